# SPDX-License-Identifier: Apache-2.0
"""Shares in bulk that a dummy backend really has: in its store and in the database alike."""

import dataclasses
import json

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models
from manila_lite.drivers.dummy.base import locations
from manila_lite.drivers.dummy.store import ShareRecord


def make(services, driver, count, *, type_id=None, project='p', pool='pool1'):
    """Make ``count`` available shares on the backend of the driver, with its export locations and one rule each. Return
    their ids with those of their instances. The store must be prepared, and not in use.
    """
    ids = [(uuidutils.generate_uuid(), uuidutils.generate_uuid()) for _ in range(count)]
    exports, rules = [], []
    for share, instance in ids:
        rule = uuidutils.generate_uuid()
        record = ShareRecord(instance, pool, 1, 'NFS', instance, rules={rule: ['ip', '10.0.0.1', 'rw']})
        (driver.store.shares.folder / instance).write_text(json.dumps(dataclasses.asdict(record)))
        rules.append(
            {
                'id': rule,
                'share_id': share,
                'access_type': 'ip',
                'access_to': '10.0.0.1',
                'access_level': 'rw',
                'state': 'active',
            }
        )
        exports += [
            {
                'id': uuidutils.generate_uuid(),
                'share_instance_id': instance,
                'position': position,
                'path': one.path,
                'preferred': one.preferred,
                'is_admin_only': one.is_admin_only,
            }
            for position, one in enumerate(locations(record, driver.conf.dummy_export_ips, []))
        ]
    now = timeutils.utcnow()
    with services.db.writer() as conn:
        conn.execute(
            models.shares.insert(),
            [
                {
                    'id': share,
                    'project_id': project,
                    'user_id': 'u',
                    'name': f's{number}',
                    'size': 1,
                    'share_proto': 'NFS',
                    'created_at': now,
                }
                for number, (share, _) in enumerate(ids)
            ],
        )
        conn.execute(
            models.share_instances.insert(),
            [
                {
                    'id': instance,
                    'share_id': share,
                    'host': f'{driver.backend.host}#{pool}',
                    'status': 'available',
                    'access_rules_status': 'active',
                    'share_type_id': type_id,
                    'progress': '100%',
                }
                for share, instance in ids
            ],
        )
        conn.execute(models.export_locations.insert(), exports)
        conn.execute(models.access_rules.insert(), rules)
    return ids
