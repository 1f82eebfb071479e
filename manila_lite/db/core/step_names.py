# SPDX-License-Identifier: Apache-2.0
"""Names of steps by kind of operation, as the last release numbered them that stored only the numbers.

They are history: a plan that changes has its names in its rows, and this table stays.
"""

from types import MappingProxyType

#: Of kinds at a backend. The scheduler had one step.
NAMES = MappingProxyType(
    {
        'access.sync': ('sync',),
        'replica.access': ('apply_rules',),
        'replica.create': ('provide', 'create'),
        'replica.delete': ('delete',),
        'replica.promote': ('quiesce', 'promote'),
        'replica.update': ('update',),
        'security_service.check': ('check',),
        'service.ensure': ('ensure',),
        'share.create': ('create',),
        'share.deferred_delete': ('delete',),
        'share.delete': ('delete',),
        'share.extend': ('extend',),
        'share.manage': ('manage',),
        'share.migrate': ('provide', 'freeze', 'start', 'copy', 'wait', 'cut_over'),
        'share.migration_check': ('check',),
        'share.release': ('delete_moved',),
        'share.revert': ('revert',),
        'share.shrink': ('shrink',),
        'share.unmanage': ('unmanage',),
        'share_backup.create': ('start', 'copy'),
        'share_backup.delete': ('delete',),
        'share_backup.restore': ('start_restore', 'restore'),
        'share_group.create': ('provide', 'wait_for_shares'),
        'share_group_snapshot.create': ('quiesce', 'take_snapshots'),
        'share_group_snapshot.delete': ('quiesce', 'delete_snapshots'),
        'share_server.add_subnet': ('allocate', 'add'),
        'share_server.apply_rules': ('apply_rules',),
        'share_server.create': ('allocate', 'configure'),
        'share_server.delete': ('teardown', 'deallocate'),
        'share_server.manage': ('register_addresses', 'manage'),
        'share_server.migrate': ('reserve', 'freeze', 'start', 'copy', 'wait', 'cut_over'),
        'share_server.migration_check': ('check',),
        'share_server.push_metadata': ('push',),
        'share_server.release': ('delete_moved', 'teardown', 'deallocate'),
        'share_server.unmanage': ('release', 'unregister_addresses'),
        'share_server.update_security_service': ('update',),
        'snapshot.create': ('create',),
        'snapshot.deferred_delete': ('delete',),
        'snapshot.delete': ('delete',),
        'snapshot.manage': ('manage_snapshot',),
        'snapshot.serve': ('serve',),
        'snapshot.unmanage': ('unmanage_snapshot',),
        'subnet.check': ('check',),
    }
)
