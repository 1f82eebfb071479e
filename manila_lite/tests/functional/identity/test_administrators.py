# SPDX-License-Identifier: Apache-2.0
"""All calls of an administrator on resources of another project: quotas, operations and parts are the owner's."""

import ast
import pathlib

import manila_lite
from manila_lite.api import versions
from manila_lite.db import models
from manila_lite.db.queries import quotas
from manila_lite.tests import hush
from manila_lite.tests.factories import replicas
from manila_lite.tests.functional import base, walking, world

#: The project of the administrator: a word that no other row has.
KEEPERS = 'keepers-4c1d'
#: Calls with which an administrator makes something of the own project: the tables in which it is.
OWN = {
    'shares.create': {'shares', 'operations'},
    'share_groups.create': {'share_groups', 'operations'},
    'share_networks.create': {'share_networks'},
    'security_services.create': {'security_services'},
    'share_transfers.accept': {'shares', 'operations'},
    'schedules.create': {'schedules'},
    'resource_locks.create': {'resource_locks'},  # a lock is of the one who may lift it
}
#: Calls that are refused when the quotas of the project are used up, and the functions that check it.
COUNTED = {
    'shares.create': 'actions/share_creation.py begin_create',
    'shares.extend': 'actions/shares.py _check_growth',
    'shares.revert': 'actions/shares.py _check_growth',
    'share_groups.create': 'actions/share_groups.py create',
    'share_group_snapshots.create': 'actions/share_group_snapshots.py create',
    'share_networks.create': 'actions/share_networks.py create',
    'share_replicas.create': 'actions/share_replicas.py create',
    'share_backups.create': 'actions/share_backups.py create',
    'share_transfers.accept': 'actions/share_transfers.py _must_fit',
    'snapshots.create': 'actions/snapshots.py create',
}
#: Further functions that check quotas, and the tests that show whose.
ELSEWHERE = {
    'actions/share_migration.py _check_quota': 'test_share_migration: test_share_migrates_to_another_type_within_its_quota',
    'manager/plans/manage_shares.py _mind_quota': 'test_manage_shares: a managed share is of the project that manages it',
}
#: Calls that are refused as long as a lock of the owner is on the share or on the rule; and those for administrators only.
LOCKED = {
    'access.deny',
    'share_backups.restore_to',
    'share_bin.soft_delete',
    'share_transfers.accept',
    'shares.delete',
    'shares.revert',
}
LOCKED_FOR_ADMINISTRATORS = {'manage_shares.unmanage', 'share_instances.force_delete', 'shares.force_delete'}
#: Calls about services and types, which are of no project.
OF_NO_PROJECT = ('findings.', 'services.', 'share_types.', 'share_group_types.', 'qos_types.', 'quota_')
#: Calls for what only a backend has, and on work under way. Their operations are begun as those of the calls that are tried.
UNTRIED = {
    'manage_shares.manage',
    'manage_shares.manage_snapshot',
    'share_servers.manage',
    *(
        f'{kind}_migration.{verb}'
        for kind in ('share', 'share_server')
        for verb in ('check', 'start', 'complete', 'cancel', 'progress', 'progress_with_details')
    ),
}
#: Calls on share servers, which projects do not see: their operations are the administrator's.
ON_SERVERS = {'share_servers.delete', 'share_servers.unmanage'}
_SOURCE = pathlib.Path(manila_lite.__file__).parent


class Administering(walking.WalkTest):
    """An administrator of a third project, and all resources of the first project."""

    EXTRA = '[quota]\nshares = -1\ngigabytes = -1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keeper = base.Api(cls.service.app, 'root', KEEPERS, 'admin,member,reader')
        cls.db = cls.service.services.db
        group = cls.owner.ok('GET', f'/share-groups/{cls.world["share_group_id"]}')['share_group']
        cls.kind = {name: group[name] for name in ('share_group_type_id', 'share_types')}
        cls.fitting = cls.found()
        #: By call: whole bodies, where what a call requires is not enough.
        cls.whole = {
            'shares.create': {'size': 1, 'share_proto': 'NFS'},
            'share_groups.create': cls.kind,
            'resource_locks.create': {'resource_id': cls.world['share_id'], 'resource_type': 'share'},
        }

    @classmethod
    def found(cls):
        """Return, by call, other resources of the first project for which it works."""
        make = cls.owner.ok
        plain, large, copied = (cls.owner.share(size=size)['id'] for size in (1, 2, 1))
        rule = cls.owner.action(plain, 'allow_access', {'access_type': 'ip', 'access_to': '10.0.0.7'})[1][
            'access'
        ]
        cls.owner.wait(f'/share-access-rules/{rule["id"]}', 'access', 'active', field='state')
        [instance] = cls.admin.ok('GET', f'/shares/{plain}/instances')['share_instances']
        empty = make('POST', '/share-groups', {'share_group': cls.kind})['share_group']['id']
        cls.owner.wait(f'/share-groups/{empty}', 'share_group', 'available')
        network = make('POST', '/share-networks', {'share_network': {}})['share_network']['id']
        ldap = make('POST', '/security-services', {'security_service': {'type': 'ldap'}})['security_service'][
            'id'
        ]
        [rule] = make('GET', f'/snapshots/{cls.world["snapshot_id"]}/access-list')['snapshot_access_list']
        with cls.db.writer() as conn:
            replicas.replicable(conn, [copied])
        replica = make('POST', '/share-replicas', {'share_replica': {'share_id': copied}})['share_replica'][
            'id'
        ]
        cls.owner.wait(f'/share-replicas/{replica}', 'share_replica', ('available', 'error'))
        return {
            **{
                name: {'share_id': plain}
                for name in (
                    'share_backups.create',
                    'shares.delete',
                    'shares.force_delete',
                    'share_bin.soft_delete',
                    'manage_shares.unmanage',
                    'share_transfers.create',
                    'share_transfers.accept',
                )
            },
            'share_instances.force_delete': {'share_instance_id': instance['id']},
            'shares.shrink': {'share_id': large, 'new_size': 1},
            **{f'share_groups.{verb}': {'share_group_id': empty} for verb in ('delete', 'force_delete')},
            'share_networks.delete': {'share_network_id': network},
            **{
                f'share_networks.{verb}': {'security_service_id': ldap}
                for verb in ('add_security_service', 'check_new_security_service')
            },
            'security_services.delete': {'security_service_id': ldap},
            'snapshot_access.deny': {'access_id': rule['id']},
            'share_replicas.create': {'share_id': copied},
            **{
                f'share_replicas.{verb}': {'share_replica_id': replica} for verb in ('delete', 'force_delete')
            },
        }

    def walk(self, caller, before=lambda: None):
        """Make each call that changes something, each after ``before``; yield it and its answer before both are undone."""
        for op in self.ops():
            if op.method != 'GET' and op.name not in UNTRIED and not op.name.startswith(OF_NO_PROJECT):
                with self.undone():
                    self.grow_snapshot()
                    values = {**self.world, **self.fitting.get(op.name, {})}
                    body = self.body(op, values)
                    before()
                    yield op, *self.call(caller, op, versions.MAX, values, body)

    def grow_snapshot(self):
        """Let the share grow if it is reverted to its snapshot."""
        table = models.snapshots
        with self.db.writer() as conn:
            conn.execute(table.update().where(table.c.id == self.world['snapshot_id']).values(size=2))

    def body(self, op, values):
        """Return a body with which the call works. A transfer to accept is offered first."""
        if op.name == 'share_transfers.accept':
            offered = self.owner.ok(
                'POST', '/share-transfers', {'transfer': {'share_id': values['share_id']}}
            )['transfer']
            hush.keep(offered['auth_key'])
            values['transfer_id'] = offered['id']
            return {'accept': {'auth_key': offered['auth_key'], 'clear_access_rules': True}}
        if op.name in self.whole:
            return world.planted(op, versions.MAX, values, None, self.whole[op.name])
        return world.body(op, versions.MAX, values)

    def limit(self, project, limit=0, **more):
        """Set all quotas of a project, or of a user in it."""
        with self.db.writer() as conn:
            quotas.set_limits(
                conn, project, dict.fromkeys(quotas.resources(self.service.conf), limit), **more
            )

    def refused(self, caller, reason, before):
        """Return the calls that are refused to the caller for a reason that has this word."""
        return {
            op.name
            for op, status, document in self.walk(caller, before)
            if status >= 400 and reason in next(iter(document.values()))['reason']
        }

    def mentions(self):
        """Return the tables that mention the administrator's project."""
        with self.db.reader() as conn:
            return {
                table.name
                for table in models.metadata.tables.values()
                if table is not models.quotas
                and any(KEEPERS in str(tuple(row)) for row in conn.execute(table.select()))
            }

    def test_what_an_administrator_makes_of_a_resource_is_its_owners(self):
        for op, status, document in self.walk(self.keeper):
            self.assertLess(status, 300, (op.name, document))
            made = self.mentions()
            if op.name in OWN:
                self.assertEqual(OWN[op.name], made - {'quota_changes', 'quota_locks'}, op.name)
            else:
                self.assertEqual({'operations'} if op.name in ON_SERVERS else set(), made, op.name)

    def test_quotas_of_the_administrator_do_not_count_for_resources_of_others(self):
        paid = set(OWN) & set(COUNTED)
        self.assertEqual(paid, self.refused(self.keeper, 'over_quota', lambda: self.limit(KEEPERS)))

    def test_quotas_of_the_owner_count_whoever_asks(self):
        for limits in ({}, {'user_id': 'alice'}):
            counted = self.refused(
                self.keeper, 'over_quota', lambda limits=limits: self.limit('first', **limits)
            )
            self.assertEqual(set(COUNTED) - set(OWN), counted, limits)
        counted = self.refused(self.owner, 'over_quota', lambda: self.limit('first'))
        self.assertEqual(set(COUNTED) - {'share_transfers.accept'}, counted)  # it is the owner's already

    def test_every_check_of_quotas_is_walked(self):
        found = set()
        for path in _SOURCE.rglob('*.py'):
            if 'tests' not in path.parts and 'siblings' not in path.parts:
                found |= {
                    f'{path.relative_to(_SOURCE)} {function.name}'
                    for function in ast.walk(ast.parse(path.read_text()))
                    if isinstance(function, ast.FunctionDef)
                    for node in ast.walk(function)
                    if isinstance(node, ast.Call) and ast.unparse(node.func) == 'quotas.check'
                }
        self.assertEqual(found, {*COUNTED.values(), *ELSEWHERE})

    def lock(self, caller):
        """Lock all shares of the first project, and the access rule of one."""
        shares = [row['id'] for row in self.owner.ok('GET', '/shares')['shares']]
        for resource_id in shares:
            caller.ok(
                'POST',
                '/resource-locks',
                {'resource_lock': {'resource_id': resource_id, 'resource_type': 'share'}},
            )
        caller.ok(
            'POST',
            '/resource-locks',
            {'resource_lock': {'resource_id': self.world['access_id'], 'resource_type': 'access_rule'}},
        )

    def test_locks_hold_whoever_asks(self):
        for by, mine, also in (
            (self.owner, LOCKED, set()),
            (self.keeper, LOCKED, {'access.update', 'share_transfers.create'}),
        ):
            self.assertEqual(
                mine | also, self.refused(self.owner, '_locked', lambda by=by: self.lock(by)), by.token
            )
            self.assertEqual(
                mine | LOCKED_FOR_ADMINISTRATORS,
                self.refused(self.keeper, '_locked', lambda by=by: self.lock(by)),
                by.token,
            )

    def test_owner_is_told_why_the_work_of_an_administrator_failed(self):
        self.addCleanup(self.service.knob, 'alpha', '')
        self.service.knob('alpha', 'extend_share:fail_final\ncreate_snapshot:fail_final')
        share = self.owner.share()['id']
        self.assertEqual(202, self.keeper.action(share, 'extend', {'new_size': 2})[0])
        self.owner.wait(f'/shares/{share}', 'share', 'extending_error')
        body = {'snapshot': {'share_id': share, 'force': True}}
        snapshot = self.keeper.ok('POST', '/snapshots', body)['snapshot']['id']
        self.owner.wait(f'/snapshots/{snapshot}', 'snapshot', 'error')
        for resource_id, kind in ((share, 'share.extend'), (snapshot, 'snapshot.create')):
            path = f'resource_id={resource_id}'
            self.assertEqual(
                ['first'],
                [row['project_id'] for row in self.owner.ok('GET', f'/messages?{path}')['messages']],
            )
            [work] = self.owner.ok('GET', f'/operations?{path}&kind={kind}')['operations']
            self.assertEqual(
                ('first', 'root', 'failed'), (work['project_id'], work['user_id'], work['state'])
            )
            self.assertEqual([], self.keeper.ok('GET', f'/operations?{path}')['operations'])
