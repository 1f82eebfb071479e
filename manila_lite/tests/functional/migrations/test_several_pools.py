# SPDX-License-Identifier: Apache-2.0
"""Share servers whose shares come to several pools of the destination, since no single pool has room for all of them."""

import concurrent.futures
import functools

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils

from manila_lite import context, errors
from manila_lite.db import models
from manila_lite.db.queries import operation_claims, share_server_migration
from manila_lite.engine import Work
from manila_lite.operation_data.migrations import MigrateServer
from manila_lite.scheduler import host_states, migration
from manila_lite.tests.functional import base, refused
from manila_lite.tests.functional.migrations import test_forced_cancel, test_share_server_migration
from manila_lite.tests.unit.operation_data import stored

_POOLS = '{}dummy_pools = {{}}\ndummy_pool_size_gb = {{}}\n'.format(
    'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
    'backend_availability_zone = here\n'
)
_WANTED = {'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}
_COPIED = 'migration_driver_phase1_done'
_HELD = 'share_server_migration_start:hang'


class Spread(test_forced_cancel.Force, test_share_server_migration.MigrationTest):
    """From ``large`` to ``small``, with two pools of 3 GiB. ``narrow`` has the same pools and a driver that cannot spread."""

    BACKENDS = {
        'large': _POOLS.format('pool1', 1000),
        'small': _POOLS.format('a,b', 3),
        'narrow': _POOLS.format('a,b', 3) + 'dummy_spreading_migration = false\n',
    }

    def setUp(self):
        super().setUp()
        self.report()

    def report(self, backend='small'):
        self.service.managers[backend]._report()

    def server(self, *sizes):
        """Make shares of these sizes on a share server of its own; return (server, ids of the shares)."""
        self.network = self.make_network('four')
        shares = [
            self.admin.share(
                share_type='served',
                share_network_id=self.network,
                size=size,
                scheduler_hints={'only_host': 'test@large#pool1'},
            )['id']
            for size in sizes
        ]
        [server] = self.servers()
        return server, shares

    def start(self, server, host='test@small', **more):
        return super().start(server, host, **more)

    def reason(self, server, host='test@small'):
        """Return why the server cannot move, or None, as the check and then the start say it."""
        status, told = self.act(server, 'migration_check', {**_WANTED, 'host': host})
        self.assertEqual((200, told['reason'] is None), (status, told['compatible']), told)
        if told['reason']:
            status, document = self.start(server, host)
            self.assertEqual(
                (409, True), (status, told['reason'] in document['conflictingRequest']['message']), document
            )
        return told['reason']

    def promised(self, backend='small'):
        """Return the claimed and the provisioned GiB of all pools."""
        with self.service.services.db.reader() as conn:
            return {
                row.host.partition('#')[2]: (row.claimed_gb, row.provisioned_gb)
                for row in conn.execute(
                    sa.select(models.pools).where(models.pools.c.backend_host == f'test@{backend}')
                )
            }

    def sums(self):
        """Return the claimed GiB of both pools, the smaller first, and the same for the provisioned ones."""
        return tuple(sorted(figures) for figures in zip(*self.promised().values(), strict=True))

    def called(self, server):
        """Wait until the backend is asked to start the copy of the server, which hangs."""
        target = self.target(server)
        base.eventually(
            lambda: target in [call for _, call in self.store('small').calls('share_server_migration_start')],
            'the copy does not start',
        )

    def target(self, server):
        return self.act(server, 'migration_get_progress')[1]['destination_share_server_id']

    def copied(self, server, **more):
        self.assertEqual(202, self.start(server, **more)[0])
        self.task_is(server, _COPIED)

    def cancelled(self, server):
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.at_rest()

    def placed(self, shares, backend='small'):
        """Return the GiB of these shares in each pool, which the driver and the database have to agree on."""
        total = {}
        for share in shares:
            found = self.admin.wait(f'/shares/{share}', 'share', 'available')
            record = self.store(backend).share(self.instance(found))
            self.assertEqual(f'test@{backend}#{record.pool}', found['host'])
            total[record.pool] = total.get(record.pool, 0) + found['size']
        return total

    def delete(self, *shares):
        for share in shares:
            self.admin.ok('DELETE', f'/shares/{share}')
        for share in shares:
            self.admin.wait(f'/shares/{share}', 'share', 'gone')
        self.at_rest()
        self.report()
        self.assertEqual(([0, 0], [0, 0]), self.sums())

    # Promises -------------------------------------------------------------------------------------

    def test_capacity_of_each_pool_stays_promised_until_a_cancel_gives_back_all(self):
        server, _ = self.server(2, 1, 2)
        self.service.knob('small', _HELD)
        self.assertEqual(202, self.start(server)[0])
        self.called(server)
        self.assertEqual(([2, 3], [0, 0]), self.sums())
        for _ in range(2):
            self.report()
            self.assertEqual(([2, 3], [0, 0]), self.sums())
        self.assertIn('CapacityFilter', self.reason(self.server(2)[0]))
        self.service.knob('small', '')
        self.task_is(server, _COPIED)
        # The operation says a moment after the server that the backend has the copies in its figures.
        base.eventually(
            lambda: self.report() or self.sums() == ([0, 0], [2, 3]), 'the copies are promised still'
        )
        self.assertIn('CapacityFilter', self.reason(self.server(2)[0]))
        self.cancelled(server)
        self.assertEqual(([0, 0], [0, 0]), self.sums(), 'at once, without a report')
        self.report()
        self.assertEqual(([0, 0], [0, 0]), self.sums())

    def test_failed_copy_gives_back_all(self):
        server, shares = self.server(2, 2)
        self.service.knob('small', 'share_server_migration_start:fail_final')
        self.assertEqual(202, self.start(server)[0])
        self.task_is(server, 'migration_error')
        self.at_rest()
        self.assertEqual(([0, 0], [0, 0]), self.sums())
        self.assertEqual({'pool1': 4}, self.placed(shares, 'large'))

    def test_forced_cancel_gives_back_all_and_the_copies_are_deleted_from_both_pools(self):
        server, shares = self.server(2, 2)
        self.copied(server)
        target = self.target(server)
        with self.down('small'):
            self.assertEqual(
                202, self.act(server, 'reset_task_state', {'task_state': 'migration_cancelled'})[0]
            )
            self.assertEqual(([0, 0], [0, 0]), self.sums())
            with self.service.services.db.reader() as conn:
                note = share_server_migration.last_release(conn, target).data
            self.assertEqual(['a', 'b'], sorted(note['pools'].values()))
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'gone')
        self.at_rest()
        self.assertEqual([], self.mine('small', [{'id': share} for share in shares]))
        self.report()
        self.assertEqual(([0, 0], [0, 0]), self.sums())
        self.copied(server)
        self.cancelled(server)

    def test_concurrent_migrations_never_get_more_than_the_pools_have(self):
        servers = [self.server(2, 2)[0] for _ in range(4)]
        self.service.knob('small', _HELD)
        with concurrent.futures.ThreadPoolExecutor(5) as threads:
            answers = [threads.submit(self.start, server) for server in servers]
            reports = threads.submit(lambda: [self.report() for _ in range(10)])
            statuses = [answer.result()[0] for answer in answers]
            reports.result()
        self.assertIn(202, statuses)
        self.assertEqual(set(), set(statuses) - {202, 409})
        started = [server for server, status in zip(servers, statuses, strict=True) if status == 202]

        def left():
            return [
                server
                for server in started
                if self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['task_state']
                != 'migration_error'
            ]

        base.eventually(lambda: len(left()) == 1, 'two servers were promised the capacity of one')
        self.report()
        self.assertEqual(([2, 2], [0, 0]), self.sums())
        [winner] = left()
        self.service.knob('small', '')
        self.task_is(winner, _COPIED)
        self.cancelled(winner)

    # Moves ----------------------------------------------------------------------------------------

    def test_each_share_is_in_its_own_pool_after_a_failed_cut_over_and_a_restart(self):
        server, shares = self.server(1, 2, 2)
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]}})['snapshot'][
            'id'
        ]
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.copied(server)
        with self.down('small'):
            pass
        self.service.knob('small', 'share_server_migration_complete:fail_final_after')
        self.act(server, 'migration_complete')
        self.task_is(server, 'migration_error')
        self.report()
        self.assertEqual(([0, 0], [2, 3]), self.sums(), 'both pools keep their copies')
        self.assertIn('CapacityFilter', self.reason(self.server(2)[0]))
        self.service.knob('small', '')
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        self.assertEqual([2, 3], sorted(self.placed(shares).values()))
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.at_rest()
        self.assertEqual([], self.mine('large', [{'id': share} for share in shares]))
        self.report()
        self.assertEqual(([0, 0], [2, 3]), self.sums())
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.delete(*shares)

    def test_spread_server_moves_on_and_leaves_nothing_in_either_pool(self):
        server, shares = self.server(2, 2)
        self.copied(server)
        self.act(server, 'migration_complete')
        self.assertEqual({'a': 2, 'b': 2}, self.placed(shares))
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        [server] = self.servers()
        self.copied(server, host='test@large')
        self.act(server, 'migration_complete')
        self.assertEqual({'pool1': 4}, self.placed(shares, 'large'))
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.at_rest()
        self.assertEqual([], self.mine('small', [{'id': share} for share in shares]))
        self.report()
        self.assertEqual(([0, 0], [0, 0]), self.sums())

    def test_single_pool_is_preferred(self):
        server, shares = self.server(1, 1)
        self.copied(server)
        with self.service.services.db.reader() as conn:
            data = share_server_migration.last(conn, server['id']).data
        self.assertEqual((set(), 2), ({'pools', 'claimed_beside', 'parts'} & set(data), data['claimed'][1]))
        self.act(server, 'migration_complete')
        self.assertEqual([2], list(self.placed(shares).values()))
        self.delete(*shares)

    # Refusals -------------------------------------------------------------------------------------

    def test_reason_names_the_real_obstacle(self):
        server, _ = self.server(2, 2)
        self.assertIsNone(self.reason(server))
        self.assertEqual(
            'No single pool of test@narrow fits all shares, and its driver cannot spread the shares of one share '
            'server over several pools.',
            self.reason(server, 'test@narrow'),
        )
        named = self.reason(server, 'test@small#a')
        self.assertIn('refused 1 of 1 pool (pool test@small#a: 4 GiB asked for, 3 GiB left', named)
        server, _ = self.server(2, 2, 2)
        neither = self.reason(server)
        self.assertTrue(
            neither.startswith(
                'The shares fit neither into one pool of test@small nor spread over its pools. '
                'There is no pool for a share of 2 GiB beside the others. '
            ),
            neither,
        )
        self.assertIn('CapacityFilter refused 2 of 2 pools', neither)
        self.assertIn(
            '6 GiB asked for, 3 GiB left', self.reason(server, 'test@narrow'), 'no driver could do it'
        )
        server, _ = self.server(4)
        self.assertIn('4 GiB asked for, 3 GiB left', self.reason(server), 'a single share cannot be spread')

    def test_driver_that_was_replaced_is_not_asked_to_spread(self):
        """Check that a report of the driver before does not count."""
        server, shares = self.server(2, 2)
        table = models.pools
        self.addCleanup(self.report, 'narrow')

        def pretend():
            # For each try again, since a report of the real driver may come at any moment.
            with self.service.services.db.writer() as conn:
                for row in conn.execute(table.select().where(table.c.backend_host == 'test@narrow')).all():
                    conn.execute(
                        table.update()
                        .where(table.c.host == row.host)
                        .values(
                            generation=row.generation + 1,
                            capabilities={**row.capabilities, 'server_migration_spread_support': True},
                        )
                    )

        def asked():
            pretend()
            return self.act(server, 'migration_check', {**_WANTED, 'host': 'test@narrow'})[1]['reason']

        def started():
            pretend()
            status, document = self.start(server, 'test@narrow')
            self.assertEqual(409, status, document)
            return document['conflictingRequest']['message']

        wanted = (
            'The driver of the destination cannot spread the shares of one share server over several pools.'
        )
        base.eventually(lambda: asked() == wanted, 'the check says something else')
        base.eventually(lambda: started().endswith(wanted), 'the start says something else')
        self.assertEqual([], self.store('narrow').calls('share_server_migration_check_compatibility'))
        self.assertEqual({'pool1': 4}, self.placed(shares, 'large'))

    def test_pools_show_whether_the_driver_spreads(self):
        pools = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
        self.assertEqual(
            {
                'test@large#pool1': True,
                'test@small#a': True,
                'test@small#b': True,
                'test@narrow#a': False,
                'test@narrow#b': False,
            },
            {pool['name']: pool['capabilities']['server_migration_spread_support'] for pool in pools},
        )


class Statements(test_share_server_migration.MigrationTest):
    """Share servers with 10 and with 500 shares of 1 GiB, each too many for one pool of its destination."""

    BACKENDS = {
        'alpha': test_share_server_migration.BACKEND.format('here'),
        'beta': _POOLS.format('a,b', 6),
        'gamma': _POOLS.format('a,b', 300),
    }

    def test_statements_do_not_grow_with_the_number_of_shares(self):
        costs = {}
        for count, backend in ((10, 'beta'), (500, 'gamma')):
            self.network = self.make_network('four')
            server, [share] = self.make_shares(1)
            self.fill(server, share, count - 1)
            self.at_rest()
            costs[count] = (
                self.phase(
                    server,
                    functools.partial(self.start, server, f'test@{backend}'),
                    functools.partial(self.task_is, server, _COPIED),
                ),
                self.phase(server, functools.partial(self.act, server, 'migration_complete'), self.at_rest),
            )
            table = models.share_instances
            with self.service.services.db.reader() as conn:
                placed = dict(
                    conn.execute(
                        sa.select(table.c.host, sa.func.count())
                        .where(table.c.share_network_id == self.network)
                        .group_by(table.c.host)
                    ).all()
                )
            most = count * 6 // 10
            self.assertEqual([count - most, most], sorted(placed.values()), placed)
            self.assertEqual({f'test@{backend}#a', f'test@{backend}#b'}, set(placed))
        for few, many in zip(sum(costs[10], ()), sum(costs[500], ()), strict=True):
            self.assertLessEqual(many, few * 1.2, costs)


class Claims(refused.WithBackends):
    """The scheduler's step by itself: two pools of one backend; no share manager and no scheduler run."""

    UP = {'test@alpha': True}
    POOLS = {
        f'test@alpha#{name}': (
            3,
            {
                'driver_handles_share_servers': True,
                'storage_protocol': 'NFS',
                'server_migration_spread_support': True,
            },
        )
        for name in 'ab'
    }

    def setUp(self):
        super().setUp()
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.pools.update().values(
                    claimed_gb=0, allocated_gb=0, generation=models.pools.c.generation + 1
                )
            )
        self.service.scheduler.hosts = host_states.Hosts(60)

    def work(self):
        """Claim an operation that moves a server with two shares of 2 GiB to the backend; return it as work."""
        table, server = models.operations, uuidutils.generate_uuid()
        self.insert(
            table,
            kind=share_server_migration.KIND,
            resource_type='share_server',
            resource_id=server,
            topic='scheduler',
            lane='work',
            state='open',
            next_run_at=timeutils.utcnow(),
            data={
                **stored.MOVE,
                'types': ['kind'],
                'network_id': None,
                'size': 4,
                'proto': 'NFS',
                'to': 'test@alpha',
                'parts': [(name, 'kind', 2) for name in ('one', 'two')],
            },
        )
        with self.service.services.db.writer() as conn:
            found = conn.execute(table.select().where(table.c.resource_id == server)).one()
            op = operation_claims.claim(conn, found, 'me', 30)
        return Work(
            op, MigrateServer.from_json(op.data), context.admin(self.service.services), self.service.scheduler
        )

    def claimed(self):
        with self.service.services.db.reader() as conn:
            return dict(conn.execute(sa.select(models.pools.c.host, models.pools.c.claimed_gb)).all())

    def test_all_pools_are_claimed_or_none(self):
        work, table = self.work(), models.pools
        # The pool that is claimed first is left alone, so that its claim succeeds and has to be taken back.
        with self.meanwhile(
            '^UPDATE pools SET (allocated|claimed)_gb',
            table.update().where(table.c.host == 'test@alpha#b').values(generation=table.c.generation + 1),
            every=True,
        ):
            self.assertRaises(errors.Again, migration.claim, work)
        self.assertEqual(({'test@alpha#a': 0, 'test@alpha#b': 0}, None), (self.claimed(), work.send))
        self.assertEqual(
            [2, 2], [need.size for need in work.data.parts], 'the next try has all that it needs'
        )

        def done():
            try:
                migration.claim(work)
            except errors.Again:
                return False
            return True

        base.eventually(done, 'no pool is taken')
        self.assertEqual({'test@alpha#a': 2, 'test@alpha#b': 2}, self.claimed())
        self.assertEqual((['a', 'b'], ('share', 'test@alpha')), (sorted(work.data.pools.values()), work.send))

    def test_operation_of_the_release_before_is_not_spread(self):
        work = self.work()
        work.data.parts = []
        refusal = self.assertRaises(errors.NoValidHost, migration.claim, work)
        self.assertIn('4 GiB asked for, 3 GiB left', str(refusal))
        self.assertNotIn('test@', str(refusal))

    def test_nothing_is_spread_while_processes_of_an_older_release_may_run(self):
        conf = self.service.conf
        conf.set_override('operations', '1.0', 'upgrade_levels')
        self.addCleanup(conf.clear_override, 'operations', 'upgrade_levels')
        refusal = self.assertRaises(errors.NoValidHost, migration.claim, self.work())
        self.assertIn('4 GiB asked for, 3 GiB left', str(refusal))
        self.assertEqual({'test@alpha#a': 0, 'test@alpha#b': 0}, self.claimed())
