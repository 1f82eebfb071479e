# SPDX-License-Identifier: Apache-2.0
"""The data of operations as they were stored before they had classes: services of the release before read and write them so.

Each kind has every key that it ever had, at a value that is not the default. A change here breaks rolling upgrades.
"""

_EXPORT = {'path': '10.0.0.1:/a', 'preferred': True, 'is_admin_only': False, 'metadata': {'mount_options': 'port=2050'}}
_NETWORK = {'subnet_id': 's', 'neutron_net_id': 'n', 'neutron_subnet_id': 'm', 'cidr': '10.0.0.0/24', 'ip_version': 4,
            'gateway': '10.0.0.1', 'mtu': 1500, 'network_type': 'vlan', 'segmentation_id': 7}
_CHANGE = {'network_id': 'n', 'details': {'pid': '1'}, 'lost': {'i': 'no room'}, 'exports': {'i': [_EXPORT]},
           'snapshot_exports': {'s': [_EXPORT]}, 'pools': {'i': 'b'}}
_CHECK = {'key': 'r@here', 'servers': ['v']}
_OUTCOME = {'state': 'in_sync', 'snapshots': {'s': None}, 'exports': [_EXPORT], 'as_of': '2026-01-01T00:00:00'}
_ON_REPLICA = {'share_id': 'a', 'left': ['s'], 'result': _OUTCOME}

#: What any kind may carry.
COMMON = {'asked': 2, 'failure': {'told': 'no room', 'detail': 'FULL'}, 'progress': {'percent': 1}, 'begun_again': True,
          '_trace': {'base_id': 'b', 'parent_id': 'p'}}

#: What operations of each kind carry beside.
BY_KIND = {
    'access.sync': {'quiet': True, 'replicated': True, 'seen': ['r'], 'results': {'r': ['refused', 'key'], 's': [None, None]},
                    'shut_out': ['b']},
    'replica.access': _ON_REPLICA,
    'replica.create': {**_ON_REPLICA, 'zone': 'z', 'only_host': 'b@c#d', 'claimed': ['b@c#d', 3], 'named_subnets': True},
    'replica.delete': {**_ON_REPLICA, 'force': True},
    'replica.promote': {**_ON_REPLICA, 'over': 'hand_over', 'quiesce': 5, 'mounted': True, 'until': 1.5, 'before': {'o': '1 x'},
                        'alone_at': 2.5},
    'replica.update': _ON_REPLICA,
    'security_service.check': {**_CHECK, 'new_id': 'e', 'current_id': 'd'},
    'service.evacuate': {
        'host': 'b@c', 'began': 1.5, 'to': ['d'], 'any_zone': True, 'writable': True, 'nondisruptive': True, 'by_host': True,
        'at_once': 4, 'dry_run': True, 'moving': {'a': {'type': 'share', 'to': 'd@c', 'size': 2, 'percent': 50}},
        'left': {'e': 'no room'}, 'plan': {'f': {'from': 'b@c', 'to': 'd@c'}}, 'claims': {'d@c#p': 2.0},
        'after': ['share', 'f'], 'through': True, 'moved': 1,
        'progress': {'done': 1, 'gib_done': 2, 'total': 3, 'percent': 4, 'left': 5, 'moving': 6, 'seconds_left': 7}},
    'service.ensure': {
        'why': 'api', 'narrow': True, 'dry_run': True, 'only': ['i'], 'server_ids': ['v'], 'heal': ['w'], 'round': 2,
        'began': 1.5, 'fingerprint': 'f', 'configuration': {'applied': ['o'], 'restart': ['p']}, 'after': 'i', 'until': 'j',
        'wrapped': True, 'passes': 2, 'visited': True, 'left': ['i'], 'broken': ['j'], 'servers': {'v': 'gone'},
        'reasons': {'a': 'gone'}, 'repairs': {'b': ['mounted']}, 'last_error': 'gone',
        'progress': {'done': 1, 'skipped': 2, 'broken': 3, 'failed': 4, 'repaired': 5, 'updated': 6, 'total': 7,
                     'seconds_left': 1.5}},
    'share.close': {'instance': 'i'},
    'share.create': {'hints': {'same_host': ['h']}, 'zone': 'z', 'member': 'm', 'zones_of_type': False,
                     'named_subnets': True, 'excluded': {'b@c#d': 'full'}, 'exports': [_EXPORT]},
    'share.delete': {}, 'share.deferred_delete': {}, 'share.unmanage': {},
    'share.extend': {'size': 1, 'new_size': 2}, 'share.shrink': {'size': 2, 'new_size': 1},
    'share.manage': {'export_path': '10.0.0.1:/a', 'options': {'o': '1'}, 'size': 3, 'exports': [_EXPORT]},
    'share.revert': {'snapshot_id': 's', 'new_size': 2},
    'share_backup.create': {'share_id': 'a', 'let_in': '10.0.0.2', 'looks': 3},
    'share_backup.restore': {'share_id': 'a', 'let_in': '10.0.0.2', 'looks': 3},
    'share_backup.delete': {},
    'share_group.create': {'zone': 'z', 'named_subnets': True}, 'share_group.delete': {},
    'share_group_snapshot.create': {'locations': {'m': 'l', 'n': None}}, 'share_group_snapshot.delete': {},
    'share_server.add_subnet': {**_CHANGE, 'subnet_id': 's', 'in_use': True, 'before': 'no address'},
    'share_server.apply_rules': {'shut_out': ['i']}, 'share_server.close': {}, 'share_server.readdress': {},
    'share_server.create': {'share_id': 'a', 'details': {'pid': '1'}},
    'share_server.delete': {},
    'share_server.manage': {'identifier': 'i', 'options': {'o': '1'}, 'details': {'pid': '1'}},
    'share_server.push_metadata': {'subnet_id': 's'},
    'share_server.unmanage': {'force': True},
    'share_server.update_security_service': {**_CHANGE, 'new_id': 'e', 'current_id': 'd'},
    'snapshot.create': {'location': 'l', 'exports': [_EXPORT]},
    'snapshot.delete': {}, 'snapshot.deferred_delete': {}, 'snapshot.unmanage': {},
    'snapshot.manage': {'options': {'o': '1'}, 'size': 3, 'location': 'l', 'exports': [_EXPORT]},
    'snapshot.serve': {'seen': ['r'], 'refused': {'r': 'no'}, 'exports': [_EXPORT]},
    'subnet.check': {**_CHECK, 'network': _NETWORK, 'needed': 2, 'each': 1},
}
