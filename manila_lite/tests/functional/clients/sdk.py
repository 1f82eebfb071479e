# SPDX-License-Identifier: Apache-2.0
"""Which methods openstacksdk has for shared file systems, and which of them cannot work yet."""

from openstack.shared_file_system.v2 import _proxy

#: What is of share groups and replicas: issue 10.
NOT_SERVED = frozenset({
    'create_share_group', 'create_share_group_snapshot', 'create_share_replica', 'delete_share_group',
    'delete_share_group_snapshot', 'delete_share_replica', 'find_share_group', 'get_share_group', 'get_share_group_snapshot',
    'get_share_replica', 'promote_share_replica', 'reset_share_group_snapshot_status', 'reset_share_replica_state',
    'reset_share_replica_status', 'resync_share_replica', 'share_group_snapshot_members', 'share_group_snapshots',
    'share_groups', 'share_replicas', 'update_share_group', 'update_share_group_snapshot'})


def methods() -> set[str]:
    """Return the names of the methods of the installed proxy."""
    return {name for name, member in vars(_proxy.Proxy).items() if callable(member) and not name.startswith('_')}
