# SPDX-License-Identifier: Apache-2.0
"""Shares in bulk, with metadata, exports, rules and snapshots."""

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models


def instance(conn, share_id, instance_id, status='available', **columns):
    """Insert an instance of a share, with the active rules of one that is served, and more ``columns``."""
    conn.execute(
        models.share_instances.insert().values(
            id=instance_id, share_id=share_id, status=status, access_rules_status='active', **columns
        )
    )


def make(conn, count, *, type_id, zone_id=None, project='p', host='test@alpha#pool1'):
    """Make ``count`` available shares, each with two pairs of metadata, two exports, two rules, a snapshot, a message
    and an operation that is done.
    """
    ids = [(uuidutils.generate_uuid(), uuidutils.generate_uuid()) for _ in range(count)]
    now = timeutils.utcnow()

    def insert(table, rows):
        conn.execute(table.insert(), rows)

    insert(
        models.shares,
        [
            {
                'id': share,
                'project_id': project,
                'user_id': 'u',
                'name': f's{number}',
                'size': 1,
                'share_proto': 'NFS',
                'snapshot_support': True,
                'created_at': now,
            }
            for number, (share, _) in enumerate(ids)
        ],
    )
    insert(
        models.share_instances,
        [
            {
                'id': instance,
                'share_id': share,
                'host': host,
                'status': 'available',
                'access_rules_status': 'active',
                'share_type_id': type_id,
                'availability_zone_id': zone_id,
                'progress': '100%',
            }
            for share, instance in ids
        ],
    )
    insert(
        models.share_metadata,
        [{'owner_id': share, 'key': key, 'value': 'v'} for share, _ in ids for key in 'ab'],
    )
    insert(
        models.export_locations,
        [
            {
                'id': uuidutils.generate_uuid(),
                'share_instance_id': instance,
                'position': position,
                'path': f'10.0.0.{position}:/shares/{instance}',
            }
            for _, instance in ids
            for position in (0, 1)
        ],
    )
    insert(
        models.access_rules,
        [
            {
                'id': uuidutils.generate_uuid(),
                'share_id': share,
                'access_type': 'ip',
                'access_to': f'10.0.0.{host_part}',
                'access_level': 'rw',
                'state': 'active',
            }
            for share, _ in ids
            for host_part in (1, 2)
        ],
    )
    insert(
        models.snapshots,
        [
            {
                'id': uuidutils.generate_uuid(),
                'share_id': share,
                'project_id': project,
                'user_id': 'u',
                'name': 'n',
                'status': 'available',
                'size': 1,
                'share_size': 1,
                'share_proto': 'NFS',
            }
            for share, _ in ids
        ],
    )
    insert(
        models.messages,
        [
            {
                'id': uuidutils.generate_uuid(),
                'project_id': project,
                'resource_id': share,
                'resource_type': 'SHARE',
                'action_id': '001',
                'detail_id': '002',
                'message_level': 'ERROR',
            }
            for share, _ in ids
        ],
    )
    insert(
        models.operations,
        [
            {
                'id': uuidutils.generate_uuid(),
                'project_id': project,
                'resource_id': share,
                'kind': 'share.create',
                'resource_type': 'share',
                'topic': 'share',
                'host': host.partition('#')[0],
                'lane': 'work',
                'state': 'done',
                'data': {},
                'next_run_at': now,
                'finished_at': now,
            }
            for share, _ in ids
        ],
    )
    return ids
