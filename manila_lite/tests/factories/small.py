# SPDX-License-Identifier: Apache-2.0
"""Small rows in bulk: QoS types with specs, and access rules of one share and of one snapshot of it."""

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models


def qos_types(conn, count):
    """Make ``count`` QoS types, each with two specs."""
    qos_type_ids = [uuidutils.generate_uuid() for _ in range(count)]
    now = timeutils.utcnow()
    conn.execute(
        models.qos_types.insert(),
        [{'id': qos_type_id, 'name': qos_type_id, 'created_at': now} for qos_type_id in qos_type_ids],
    )
    conn.execute(
        models.qos_type_specs.insert(),
        [
            {'owner_id': qos_type_id, 'key': key, 'value': '1'}
            for qos_type_id in qos_type_ids
            for key in ('maxbps', 'peak_iops')
        ],
    )


def readers(conn, share, snapshot, count, first=0):
    """Add ``count`` read-only rules to the share and to its snapshot, and as many export locations to the snapshot.
    ``first`` tells rounds apart.
    """
    now = timeutils.utcnow()
    rules = [
        {
            'access_type': 'ip',
            'access_to': f'10.{number >> 8}.{number & 255}.1',
            'state': 'active',
            'created_at': now,
        }
        for number in range(first, first + count)
    ]
    conn.execute(
        models.access_rules.insert(),
        [
            {'id': uuidutils.generate_uuid(), 'share_id': share, 'access_level': 'ro', **rule}
            for rule in rules
        ],
    )
    conn.execute(
        models.snapshot_access_rules.insert(),
        [{'id': uuidutils.generate_uuid(), 'snapshot_id': snapshot, **rule} for rule in rules],
    )
    conn.execute(
        models.snapshot_export_locations.insert(),
        [
            {
                'id': uuidutils.generate_uuid(),
                'snapshot_id': snapshot,
                'position': number,
                'path': f'10.0.0.1:/snapshots/{number}',
                'created_at': now,
            }
            for number in range(first, first + count)
        ],
    )
