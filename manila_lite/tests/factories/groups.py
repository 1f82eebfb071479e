# SPDX-License-Identifier: Apache-2.0
"""Share groups in bulk, each with a share type, and a snapshot with one member."""

from oslo_utils import timeutils, uuidutils

from manila_lite.db import models


def make(conn, shares, *, type_id, project='p', host='test@alpha#pool1'):
    """Make an available group for each of these shares (ids), and two snapshots of it. Return the ids of the groups."""
    now, kind = timeutils.utcnow(), uuidutils.generate_uuid()
    own = {'project_id': project, 'user_id': 'u', 'name': 'n', 'status': 'available', 'created_at': now}
    groups = {share: uuidutils.generate_uuid() for share in shares}
    snapshots = {uuidutils.generate_uuid(): share for share in shares for _ in range(2)}

    def insert(table, rows):
        conn.execute(table.insert(), rows)

    insert(models.share_group_types, [{'id': kind, 'name': kind, 'created_at': now}])
    insert(models.share_group_type_specs, [{'owner_id': kind, 'key': 'a', 'value': 'v'}])
    insert(models.share_group_type_share_types, [{'owner_id': kind, 'share_type_id': type_id}])
    insert(
        models.share_groups,
        [{'id': group_id, 'share_group_type_id': kind, 'host': host, **own} for group_id in groups.values()],
    )
    insert(
        models.share_group_share_types,
        [{'owner_id': group_id, 'share_type_id': type_id} for group_id in groups.values()],
    )
    insert(
        models.share_group_snapshots,
        [{'id': group_id, 'share_group_id': groups[share], **own} for group_id, share in snapshots.items()],
    )
    insert(
        models.share_group_snapshot_members,
        [
            {
                'id': uuidutils.generate_uuid(),
                'share_group_snapshot_id': snapshot_id,
                'share_id': share,
                'size': 1,
                'share_proto': 'NFS',
                'created_at': now,
            }
            for snapshot_id, share in snapshots.items()
        ],
    )
    return list(groups.values())
