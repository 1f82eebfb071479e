# SPDX-License-Identifier: Apache-2.0
"""Sums of usage are those of the rows: after any requests of several callers at once, and after changes past the triggers."""

import random
from concurrent import futures

import sqlalchemy as sa
import testtools
from oslo_utils import uuidutils

from manila_lite import doctor, errors
from manila_lite.db import models
from manila_lite.db.doctor.operations import UNDER_WAY
from manila_lite.db.queries import quota_sums, quotas
from manila_lite.tests import waiting
from manila_lite.tests.functional import base
from manila_lite.tests.functional.api.test_budgets import counting
from manila_lite.tests.services import places

_BACKEND = 'dummy_replication_domain = far\nbackend_availability_zone = {}\nmigration_driver_continue_update_interval = 0.1\n'
_QUOTAS = (
    'shares',
    'gigabytes',
    'snapshots',
    'snapshot_gigabytes',
    'share_networks',
    'share_groups',
    'share_group_snapshots',
    'share_replicas',
    'replica_gigabytes',
    'backups',
    'backup_gigabytes',
)
_MOVE = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': True, 'preserve_metadata': True}
#: By table: the resources of its number of rows and of their GiB.
_COUNTED = {
    models.shares: ('shares', 'gigabytes'),
    models.snapshots: ('snapshots', 'snapshot_gigabytes'),
    models.share_networks: ('share_networks', None),
    models.share_groups: ('share_groups', None),
    models.share_group_snapshots: ('share_group_snapshots', None),
    models.share_backups: ('backups', 'backup_gigabytes'),
}


class Sums(base.ServiceTest):
    """Comparison of sums and rows."""

    PARTS = ()

    def do(self, call, *args, **more):
        """Commit ``call(conn, ...)``; return its answer."""
        with self.service.services.db.writer() as conn:
            return call(conn, *args, **more)

    def look(self, call, *args, **more):
        with self.service.services.db.reader() as conn:
            return call(conn, *args, **more)

    def rows(self, table, *conditions):
        return self.look(lambda conn: conn.execute(sa.select(table).where(*conditions)).all())

    def is_exact(self):
        """Check that the sums of all projects are those of the rows, at one moment."""
        self.assertEqual([], self.look(quota_sums.list_missing))

    def by_hand(self, project, *users):
        """Return the usage that the rows come to, without the help of the database."""
        used = {}
        for table, (number, gigabytes) in _COUNTED.items():
            rows = [
                row
                for row in self.rows(table, table.c.project_id == project)
                if not getattr(row, 'deletion_deferred', False) and (not users or row.user_id in users)
            ]
            used[number] = len(rows)
            if gigabytes:
                used[gigabytes] = sum(max(row.size, getattr(row, 'target_size', None) or 0) for row in rows)
            if table is models.shares:
                used['encryption_keys'] = len({row.encryption_key_ref for row in rows} - {None})
        return used

    def is_as_counted(self, project, *users):
        for one in ('', *users):
            used = self.look(quotas.usages, project, user_id=one)
            truth = self.by_hand(project, *filter(None, [one]))
            self.assertEqual(truth, {name: used[name].total for name in truth}, one)


class Requests(Sums):
    """Random requests of three callers at once, for whatever they find."""

    PARTS = ('scheduler', 'share')
    BACKENDS = {'alpha': _BACKEND.format('zone-a'), 'beta': _BACKEND.format('zone-b')}
    EXTRA = 'default_share_group_type = plain\n[quota]\n' + ''.join(f'{name} = -1\n' for name in _QUOTAS)
    PROJECTS = ('one', 'two')
    USERS = ('ann', 'bob')

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kinds = [
            cls.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {
                            'driver_handles_share_servers': 'False',
                            'snapshot_support': 'True',
                            'revert_to_snapshot_support': 'True',
                            'create_share_from_snapshot_support': 'True',
                            **more,
                        },
                    }
                },
            )['share_type']['id']
            for name, more in (('plain', {}), ('other', {}), ('far', {'replication_type': 'dr'}))
        ]
        cls.admin.ok(
            'POST', '/share-group-types', {'share_group_type': {'name': 'plain', 'share_types': ['plain']}}
        )

    def setUp(self):
        super().setUp()
        self.accepted = set()
        self.steps = {name: step for name, step in vars(Requests).items() if name.startswith('step_')}

    def pick(self, table, dice, project, *conditions):
        """Return one of the project's rows, or a row that no request finds."""
        found = sorted(self.rows(table, table.c.project_id == project, *conditions))
        return dice.choice(found) if found else sa.util.immutabledict(id='none')

    def share(self, dice, project, *conditions):
        """Return the id of an available share of the project."""
        instances = models.share_instances
        ready = sa.exists().where(
            instances.c.share_id == models.shares.c.id, instances.c.status == 'available'
        )
        return self.id_of(models.shares, dice, project, ready, *conditions)

    def id_of(self, *args):
        return getattr(self.pick(*args), 'id', 'none')

    def act(self, share, name, body=None, caller=None):
        return (caller or self.admin).action(share, name, body)[0]

    def step_create(self, caller, dice, project):
        return caller.call(
            'POST',
            '/shares',
            {
                'share': {
                    'size': dice.randint(1, 3),
                    'share_proto': 'NFS',
                    'share_type': dice.choice(('plain', 'far')),
                }
            },
        )[0]

    def step_create_in_group(self, caller, dice, project):
        return caller.call(
            'POST',
            '/shares',
            {
                'share': {
                    'size': 1,
                    'share_proto': 'NFS',
                    'share_type': 'plain',
                    'share_group_id': self.id_of(models.share_groups, dice, project),
                }
            },
        )[0]

    def step_create_from_snapshot(self, caller, dice, project):
        return caller.call(
            'POST',
            '/shares',
            {
                'share': {
                    'size': 3,
                    'share_proto': 'NFS',
                    'snapshot_id': self.id_of(models.snapshots, dice, project),
                }
            },
        )[0]

    def step_extend(self, caller, dice, project):
        return self.act(self.share(dice, project), 'extend', {'new_size': dice.randint(3, 6)}, caller)

    def step_shrink(self, caller, dice, project):
        return self.act(
            self.share(dice, project, models.shares.c.size > 1), 'shrink', {'new_size': 1}, caller
        )

    def step_revert(self, caller, dice, project):
        row = self.pick(models.snapshots, dice, project)
        return self.act(
            getattr(row, 'share_id', 'none'), 'revert', {'snapshot_id': getattr(row, 'id', 'none')}, caller
        )

    def step_delete(self, caller, dice, project):
        return caller.call('DELETE', f'/shares/{self.share(dice, project)}')[0]

    def step_soft_delete(self, caller, dice, project):
        return self.act(self.share(dice, project), 'soft_delete', None, caller)

    def step_restore(self, caller, dice, project):
        return self.act(
            self.id_of(models.shares, dice, project, models.shares.c.is_soft_deleted), 'restore', None, caller
        )

    def step_unmanage(self, caller, dice, project):
        return self.act(self.share(dice, project), 'unmanage')

    def step_transfer(self, caller, dice, project):
        status, made, _ = caller.call(
            'POST', '/share-transfers', {'transfer': {'share_id': self.share(dice, project)}}
        )
        if status != 202:
            return status
        taker = self.caller(dice.choice(self.PROJECTS), dice.choice(self.USERS))
        return taker.call(
            'POST',
            f'/share-transfers/{made["transfer"]["id"]}/accept',
            {'accept': {'auth_key': made['transfer']['auth_key'], 'clear_access_rules': True}},
        )[0]

    def step_move(self, caller, dice, project, **more):
        return self.act(
            self.share(dice, project),
            'migration_start',
            {**_MOVE, 'host': f'test@{dice.choice(("alpha", "beta"))}#pool1', **more},
        )

    def step_retype(self, caller, dice, project):
        return self.step_move(caller, dice, project, new_share_type_id=dice.choice(self.kinds[:2]))

    def step_complete(self, caller, dice, project):
        return self.act(
            self.id_of(models.shares, dice, project, models.shares.c.task_state.is_not(None)),
            'migration_complete',
        )

    def step_snapshot(self, caller, dice, project):
        return caller.call('POST', '/snapshots', {'snapshot': {'share_id': self.share(dice, project)}})[0]

    def step_delete_snapshot(self, caller, dice, project):
        return caller.call('DELETE', f'/snapshots/{self.id_of(models.snapshots, dice, project)}')[0]

    def step_replicate(self, caller, dice, project):
        far = models.shares.c.replication_type.is_not(None)
        return caller.call(
            'POST', '/share-replicas', {'share_replica': {'share_id': self.share(dice, project, far)}}
        )[0]

    def step_delete_replica(self, caller, dice, project):
        replicas = caller.ok('GET', '/share-replicas')['share_replicas']
        return caller.call(
            'DELETE', f'/share-replicas/{dice.choice(replicas)["id"] if replicas else "none"}'
        )[0]

    def step_group(self, caller, dice, project):
        return caller.call('POST', '/share-groups', {'share_group': {'share_types': self.kinds[:1]}})[0]

    def step_delete_group(self, caller, dice, project):
        return caller.call('DELETE', f'/share-groups/{self.id_of(models.share_groups, dice, project)}')[0]

    def step_group_snapshot(self, caller, dice, project):
        return caller.call(
            'POST',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': self.id_of(models.share_groups, dice, project)}},
        )[0]

    def step_delete_group_snapshot(self, caller, dice, project):
        return caller.call(
            'DELETE', f'/share-group-snapshots/{self.id_of(models.share_group_snapshots, dice, project)}'
        )[0]

    def step_back_up(self, caller, dice, project):
        return caller.call(
            'POST',
            '/share-backups',
            {'share_backup': {'share_id': self.share(dice, project)}},
            headers={'X-OpenStack-Manila-API-Experimental': 'true'},
        )[0]

    def step_delete_backup(self, caller, dice, project):
        return caller.call(
            'DELETE',
            f'/share-backups/{self.id_of(models.share_backups, dice, project)}',
            headers={'X-OpenStack-Manila-API-Experimental': 'true'},
        )[0]

    def step_network(self, caller, dice, project):
        return caller.call('POST', '/share-networks', {'share_network': {}})[0]

    def step_delete_network(self, caller, dice, project):
        return caller.call('DELETE', f'/share-networks/{self.id_of(models.share_networks, dice, project)}')[0]

    def walk(self, seed):
        """Take all steps in random order until each was accepted by somebody, but not for ever."""
        dice = random.Random(seed)
        for _ in range(12):
            for name in dice.sample(sorted(self.steps), len(self.steps)):
                project = dice.choice(self.PROJECTS)
                if self.steps[name](self, self.caller(project, dice.choice(self.USERS)), dice, project) < 300:
                    self.accepted.add(name)
                self.is_exact()
            if self.accepted == set(self.steps):
                return

    def is_quiet(self):
        """Complete migrations, and say whether no work is left."""
        self.is_exact()
        operations = models.operations
        for row in self.rows(models.shares, models.shares.c.task_state.is_not(None)):
            self.act(row.id, 'migration_complete')
        return not self.rows(
            operations, operations.c.state.in_(UNDER_WAY), operations.c.kind != 'access.sync'
        )

    def test_sums_are_those_of_the_rows_after_each_step_of_concurrent_callers(self):
        with futures.ThreadPoolExecutor(3) as pool:
            for walk in [pool.submit(self.walk, seed) for seed in range(3)]:
                walk.result(waiting.LIMIT)
        self.assertEqual(set(self.steps), self.accepted)
        base.eventually(self.is_quiet, 'there is work left')
        for project in self.PROJECTS:
            self.is_as_counted(project, *self.USERS)


class Past(Sums):
    """Rows and sums that were changed past the triggers, and sums of many changes."""

    EXTRA = '[quota]\nshares = -1\ngigabytes = -1\n'

    def setUp(self):
        super().setUp()
        self.project = uuidutils.generate_uuid()
        self.addCleanup(
            self.do,
            lambda conn: conn.execute(
                models.quota_changes.delete().where(models.quota_changes.c.project_id == self.project)
            ),
        )
        self.addCleanup(
            self.do,
            lambda conn: conn.execute(
                models.shares.delete().where(models.shares.c.project_id == self.project)
            ),
        )

    def add(self, *names, size=3, user='u', **more):
        self.do(
            lambda conn: conn.execute(
                models.shares.insert(),
                [
                    {
                        'id': uuidutils.generate_uuid(),
                        'project_id': self.project,
                        'user_id': user,
                        'name': name,
                        'size': size,
                        'share_proto': 'NFS',
                        **more,
                    }
                    for name in names
                ],
            )
        )

    def change(self, **values):
        """Change all shares of the project, with one statement."""
        self.do(
            lambda conn: conn.execute(
                models.shares.update().where(models.shares.c.project_id == self.project).values(**values)
            )
        )

    def used(self, name, **part):
        usage = self.look(quotas.usages, self.project, **part)[name]
        return usage.in_use, usage.reserved

    def check(self, add=1, user='u'):
        """Check the addition of shares; return the number of statements for that."""
        with counting(self.service.services.db.engine) as counter:
            self.do(
                quotas.check, self.service.conf, self.project, user, None, {'shares': add, 'gigabytes': add}
            )
        return len(counter.asked())

    def changes(self):
        return self.rows(models.quota_changes, models.quota_changes.c.project_id == self.project)

    def test_statements_of_any_kind_change_the_sums(self):
        keys = [uuidutils.generate_uuid() for _ in range(2)]
        self.add('a', 'b', encryption_key_ref=keys[0])
        self.add('c', encryption_key_ref=keys[1], target_size=7)
        self.add('d', user=None)
        for values in (
            {},
            {'target_size': 9},
            {'size': 9, 'target_size': None},
            {'user_id': 'v'},
            {'name': 'x'},
            {'encryption_key_ref': keys[0]},
            {'deletion_deferred': True},
            {'deletion_deferred': False, 'encryption_key_ref': None},
        ):
            if values:
                self.change(**values)
            self.is_exact()
            self.is_as_counted(self.project, 'u', 'v')
        self.assertEqual(
            ((4, 0), (36, 0), (0, 0)), tuple(map(self.used, ('shares', 'gigabytes', 'encryption_keys')))
        )

    def test_rolled_back_changes_do_not_count(self):
        self.add('a')
        with testtools.ExpectedException(ZeroDivisionError), self.service.services.db.writer() as conn:
            conn.execute(models.shares.delete().where(models.shares.c.project_id == self.project))
            raise ZeroDivisionError
        self.assertEqual((1, 0), self.used('shares'))

    def test_changes_past_the_triggers_are_found_and_mended_by_the_doctor(self):
        self.add('a', 'b')
        self.do(
            lambda conn: conn.execute(
                models.quota_changes.update()
                .where(models.quota_changes.c.project_id == self.project)
                .values(number=5, gigabytes=1)
            )
        )
        self.assertEqual((10, 0), self.used('shares'))
        [found] = [one for one in doctor.list_findings(self.service.services) if one.what == 'quota']
        self.assertEqual((self.project, True), (found.id, found.wrong))
        self.assertIn('shares', found.why)
        self.assertTrue(doctor.mend(self.service.services, found))
        self.is_exact()
        self.assertEqual(((2, 0), (6, 0)), (self.used('shares'), self.used('gigabytes')))
        self.assertIsNone(doctor.mend(self.service.services, found))

    def test_a_missing_trigger_is_found_and_made_by_the_doctor(self):
        name = 'quota_changes_shares_delete'
        on = ' ON shares' if places.backend() == 'postgresql' else ''
        self.add('a', 'b')
        self.do(lambda conn: conn.exec_driver_sql(f'DROP TRIGGER {name}{on}'))
        self.do(lambda conn: conn.execute(models.shares.delete().where(models.shares.c.name == 'a')))
        found = [one for one in doctor.list_findings(self.service.services) if one.what == 'quota']
        self.assertEqual([name, self.project], [one.id for one in found])
        for one in found:
            self.assertTrue(doctor.mend(self.service.services, one))
        self.assertIsNone(doctor.mend(self.service.services, found[0]))
        self.assertEqual((1, 0), self.used('shares'))
        self.do(lambda conn: conn.execute(models.shares.delete().where(models.shares.c.name == 'b')))
        self.assertEqual((0, 0), self.used('shares'))
        self.assertEqual(
            [], [one for one in doctor.list_findings(self.service.services) if one.what == 'quota']
        )

    def test_check_costs_the_same_for_any_number_of_shares(self):
        """Also after many changes: one change takes the place of many, and no more are read than are left of them."""
        quiet, left = set(), set()
        for count in (10, 200, 2000):
            self.add(*map(str, range(count)))
            self.change(size=4)
            for _ in range(8):
                self.check()
            quiet.add(self.check())
            left.add(len(self.changes()))
            self.is_exact()
        self.assertEqual({3}, quiet)
        self.assertLess(max(left), 150)
        self.assertEqual(((2210, 0), (8840, 0)), (self.used('shares'), self.used('gigabytes')))

    def test_changes_of_many_users_are_folded_for_each(self):
        users = [f'user-{number}' for number in range(150)]
        for user in users:
            self.add('a', 'b', user=user)
        self.check()
        folded = self.changes()
        self.assertEqual(150, len(folded))
        self.check()
        self.assertEqual(folded, self.changes())
        self.assertEqual(((300, 0), (2, 0)), (self.used('shares'), self.used('shares', user_id=users[7])))

    def test_nothing_is_left_of_shares_that_are_gone(self):
        self.add(*map(str, range(100)))
        self.do(
            lambda conn: conn.execute(
                models.shares.delete().where(models.shares.c.project_id == self.project)
            )
        )
        self.check()
        self.assertEqual([], self.changes())

    def test_refused_addition_folds_nothing(self):
        self.add(*map(str, range(200)))
        self.do(quotas.set_limits, self.project, {'shares': 200})
        self.assertRaises(errors.OverQuota, self.check)
        self.assertEqual(200, len(self.changes()))

    def test_deletions_do_not_wait_for_the_sum_of_their_project(self):
        """Delete shares in two transactions in turn, and check and fold the sum of their project before either is over."""
        if places.backend() == 'sqlite':
            self.skipTest('only PostgreSQL has several writers, and MariaDB')
        self.add(*map(str, range(200)))
        rows = self.rows(models.shares, models.shares.c.project_id == self.project)
        with (
            self.service.services.db.engine.connect() as first,
            self.service.services.db.engine.connect() as second,
        ):
            for conn, row in ((first, rows[0]), (second, rows[1]), (first, rows[2])):
                conn.execute(models.shares.delete().where(models.shares.c.id == row.id))
            self.check()
            self.assertEqual(1, len(self.changes()))
            first.commit()
            second.commit()
        self.is_exact()
        self.assertEqual((197, 0), self.used('shares'))
