# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server to another backend in two phases, with everything on it."""

import concurrent.futures
import dataclasses
import functools

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite import doctor
from manila_lite.db import models
from manila_lite.db.queries import allocations, operations
from manila_lite.db.queries import share_server_migration as share_server_migration_queries
from manila_lite.doctor import examine
from manila_lite.drivers.dummy.store import SnapshotRecord
from manila_lite.manager.plans import share_server_migration
from manila_lite.tests import waiting
from manila_lite.tests.factories import dirty
from manila_lite.tests.factories import shares as factory
from manila_lite.tests.functional import base
from manila_lite.tests.functional.api.test_budgets import counting
from manila_lite.tests.services import hearing

_NETWORKS = """
networks:
- id: net
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/20, gateway: 10.1.0.1}
  - {id: other, cidr: 10.2.0.0/20}
"""
BACKEND = (
    'driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
    'backend_availability_zone = {}\ndummy_pool_size_gb = 1000\n'
)
_WANTED = {'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}
_PLAN = next(
    plan for plan in share_server_migration.PLANS if plan.kind == share_server_migration_queries.KIND
)


class MigrationTest(base.ServiceTest):
    """Helpers to migrate share servers."""

    EXTRA = (
        '[quota]\nshare_networks = -1\nshares = -1\ngigabytes = -1\nsnapshots = -1\nsnapshot_gigabytes = -1\n'
        '[api]\nwaiters = 7\nwaiters_per_project = 7\n'
    )

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.service.use_networks(_NETWORKS)
        for name, more in (('served', {}), ('here', {'availability_zones': 'here'})):
            cls.admin.ok(
                'POST',
                '/types',
                {
                    'share_type': {
                        'name': name,
                        'extra_specs': {
                            'driver_handles_share_servers': 'True',
                            'snapshot_support': 'True',
                            **more,
                        },
                    }
                },
            )

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')
        self.network = self.make_network('four')

    def make_network(self, subnet):
        return self.admin.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': subnet}},
        )['share_network']['id']

    def make_shares(self, count=2, kind='served', backend='alpha'):
        """Make shares on one server of a backend; return (server, shares)."""
        host = f'test@{backend}#' + self.pool(backend)
        shares = [
            self.admin.share(
                share_type=kind, share_network_id=self.network, scheduler_hints={'only_host': host}
            )
            for _ in range(count)
        ]
        [server] = self.servers()
        return server, shares

    def pool(self, backend):
        pools = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
        return next(row['name'].partition('#')[2] for row in pools if f'@{backend}#' in row['name'])

    def paths(self, share):
        places = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        return [place['path'] for place in places]

    def servers(self, network=None):
        return self.admin.ok('GET', f'/share-servers?share_network_id={network or self.network}')[
            'share_servers'
        ]

    def act(self, server, action, body=None):
        status, document, _ = self.admin.call('POST', f'/share-servers/{server["id"]}/action', {action: body})
        return status, document

    def start(self, server, host='test@beta', **more):
        return self.act(server, 'migration_start', {**_WANTED, 'host': host, **more})

    def task_is(self, server, state):
        base.eventually(
            lambda: (
                self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['task_state'] == state
            ),
            f'not {state}',
        )

    def untouched(self, server):
        """Return the operation of the server's migration, which waits for the operator, once no worker has it any more: the
        task state is seen before the worker saves the operation.
        """

        def released():
            with self.service.services.db.reader() as conn:
                op = share_server_migration_queries.last(conn, server['id'])
            return op if op.owner is None else None

        return waiting.until(released, 'a worker has the migration')

    def store(self, backend):
        return self.service.managers[backend].driver.store

    def at_rest(self):
        """Wait until no server migrates and every operation has ended."""

        def ended():
            with self.service.services.db.reader() as conn:
                return not conn.execute(
                    sa.select(models.operations.c.id).where(models.operations.c.state == 'open')
                ).first()

        base.eventually(ended, 'operations are open')

    def told(self, heard, server, *, until):
        """Return the notifications of the server's migration, up to this event, as pairs of event and publisher."""
        heard.wait(until, share_server_id=server['id'])
        return [
            (event['event'].removeprefix('share_server.'), event['publisher'])
            for event in heard.of(share_server_id=server['id'])
        ]

    def instance(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances'][0]['id']

    def mine(self, backend, shares):
        return [share['id'] for share in shares if self.store(backend).shares.get(self.instance(share))]

    def reaches_its_target(self, server):
        """Migrate the server up to the end of the first phase; return the id of the target."""
        self.assertEqual(202, self.start(server)[0])
        self.task_is(server, 'migration_driver_phase1_done')
        return self.act(server, 'migration_get_progress')[1]['destination_share_server_id']

    def is_as_before(self, server, shares, network=None):
        self.at_rest()
        self.assertEqual(
            'active', self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['status']
        )
        for share in shares:
            found = self.admin.ok('GET', f'/shares/{share["id"]}')['share']
            self.assertEqual(('available', server['id']), (found['status'], found['share_server_id']))
        self.assertEqual([], self.mine('beta', shares))
        self.assertEqual([server['id']], [row['id'] for row in self.servers()])
        if network:
            self.assertEqual([], self.servers(network))

    def fill(self, server, share, count):
        """Insert ``count`` shares on the share's server, each with export locations, access rules and a snapshot."""
        with self.service.services.db.writer() as conn:
            kind = conn.execute(
                sa.select(models.share_instances.c.share_type_id).where(
                    models.share_instances.c.share_id == share['id']
                )
            ).scalar()
            made = factory.make(conn, count, type_id=kind, host='test@alpha#pool1')
            idents = [resource_id for resource_id, _ in made]
            taken = {
                row.share_id: row.id
                for row in conn.execute(models.snapshots.select())
                if row.share_id in idents
            }
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(
                models.share_instances.update()
                .where(models.share_instances.c.share_id.in_(idents))
                .values(share_server_id=server['id'], share_network_id=self.network)
            )
        store = self.store('alpha')
        pattern = store.share(self.instance(share))
        for resource_id, instance in made:
            store.shares.put(dataclasses.replace(pattern, id=instance))
            store.snapshots.put(SnapshotRecord(taken[resource_id], instance, 1, '', 0.0))

    def phase(self, server, act, until):
        """Return the number of SQL statements of a phase of the server's migration: of the request, and of the workers, which
        work for the request that began it.
        """
        with counting(self.service.services.db.engine) as counter:
            status, document = act()
            self.assertLess(status, 300, document)
            asked = counter.asked()
            until()
        with self.service.services.db.reader() as conn:
            worked = counter.worked(
                share_server_migration_queries.last(conn, server['id']).request_id, claims=False
            )
        self.assertTrue(worked, 'nothing is counted')
        # The number of looks for the answer of the backend depends on time.
        return len([text for text in asked if 'FROM operations' not in text]), len(worked)


class Costs(MigrationTest):
    """Costs of a migration. Its many shares leave no room for others until the backend reports again."""

    BACKENDS = {'alpha': BACKEND.format('here'), 'beta': BACKEND.format('here')}

    def test_statements_do_not_grow_with_the_number_of_shares(self):
        costs = {}
        for count in (10, 500):
            self.network = self.make_network('four')
            server, [share] = self.make_shares(1)
            self.fill(server, share, count - 1)
            self.at_rest()
            costs[count] = (
                self.phase(
                    server,
                    functools.partial(self.start, server),
                    functools.partial(self.task_is, server, 'migration_driver_phase1_done'),
                ),
                self.phase(server, functools.partial(self.act, server, 'migration_complete'), self.at_rest),
            )
            found = self.admin.ok(
                'GET', f'/shares/detail?share_network_id={self.network}&limit=1&with_count=true'
            )
            self.assertEqual(
                (count, 'available', 'test@beta#pool1'),
                (found['count'], found['shares'][0]['status'], found['shares'][0]['host']),
            )
        for few, many in zip(sum(costs[10], ()), sum(costs[500], ()), strict=True):
            self.assertLessEqual(many, few * 1.2, costs)


class Migration(MigrationTest):
    """From ``alpha`` to ``beta``, in one zone; ``gamma`` is in another, ``still`` cannot copy while clients write."""

    BACKENDS = {
        'alpha': BACKEND.format('here'),
        'beta': BACKEND.format('here'),
        'gamma': BACKEND.format('there'),
        'still': BACKEND.format('here') + 'dummy_writable_migration = false\n',
        'firm': BACKEND.format('here') + 'dummy_cancellable_migration = false\n',
    }

    def test_server_migrates_with_shares_snapshots_rules_and_addresses(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        server, shares = self.make_shares()
        user = self.caller('p')
        self.admin.action(shares[0]['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.1.0.0/20'})
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'active', field='access_rules_status')
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]['id']}})[
            'snapshot'
        ]
        self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.at_rest()
        with self.service.services.db.reader() as conn:
            before = {row.ip_address for row in allocations.of_server(conn, server['id'])}
        old = self.paths(shares[0])
        self.assertEqual((202, None), self.start(server))
        self.task_is(server, 'migration_driver_phase1_done')
        self.assertEqual(
            'server_migrating', self.admin.ok('GET', f'/shares/{shares[1]["id"]}')['share']['status']
        )
        self.assertEqual(
            'server_migrating', user.ok('GET', f'/snapshots/{snapshot["id"]}')['snapshot']['status']
        )
        self.service.managers['alpha'].driver.write(self.instance(shares[0]), 'written late')
        status, told = self.act(server, 'migration_get_progress')
        self.assertEqual(
            (200, 100, 'migration_driver_phase1_done'), (status, told['total_progress'], told['task_state'])
        )
        target = told['destination_share_server_id']
        self.assertEqual(
            (200, {'destination_share_server_id': target}), self.act(server, 'migration_complete')
        )
        for share in shares:
            found = self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.assertIn('@beta#', found['host'])
            self.assertEqual(target, found['share_server_id'])
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.at_rest()
        self.assertEqual('available', user.ok('GET', f'/snapshots/{snapshot["id"]}')['snapshot']['status'])
        record = self.store('beta').share(self.instance(shares[0]))
        self.assertEqual(
            ('written late', [['ip', '10.1.0.0/20', 'rw']]), (record.content, list(record.rules.values()))
        )
        self.assertIsNotNone(self.store('beta').snapshots.get(snapshot['id']))
        alpha = self.store('alpha')
        self.assertEqual(
            ([], None, None),
            (
                self.mine('alpha', shares),
                alpha.servers.get(server['id']),
                alpha.snapshots.get(snapshot['id']),
            ),
        )
        with self.service.services.db.reader() as conn:
            self.assertEqual(before, {row.ip_address for row in allocations.of_server(conn, target)})
        new = self.paths(shares[0])
        self.assertEqual(old, new)  # the network is the same, so the addresses are
        self.assertEqual(100, self.act(server, 'migration_get_progress')[1]['total_progress'])
        self.assertEqual(
            [
                ('migrate.start', 'api.test'),
                ('migrate.end', 'share.test@beta'),
                ('migration_complete.start', 'api.test'),
                ('migration_complete.end', 'share.test@beta'),
            ],
            self.told(heard, server, until='share_server.migration_complete.end'),
        )
        self.assertEqual(
            [1, 1, 2, 2], [event['payload']['phase'] for event in heard.of(share_server_id=server['id'])]
        )
        last = heard.wait('share_server.migration_complete.end', share_server_id=server['id'])['payload']
        self.assertEqual(
            (target, 'test@alpha', 'test@beta', self.network, 2, 2, 1),
            tuple(
                last[name]
                for name in (
                    'destination_share_server_id',
                    'from',
                    'to',
                    'new_share_network_id',
                    'phase',
                    'shares',
                    'snapshots',
                )
            ),
        )
        self.assertTrue(last['request_id'].startswith('req-'))

    def test_server_migrates_to_another_network(self):
        server, shares = self.make_shares(1)
        network = self.make_network('other')
        self.assertEqual((202, None), self.start(server, new_share_network_id=network))
        self.task_is(server, 'migration_driver_phase1_done')
        self.act(server, 'migration_complete')
        found = self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')
        self.assertEqual(network, found['share_network_id'])
        [path] = self.paths(shares[0])
        self.assertIn('10.2.', path)
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        with self.service.services.db.reader() as conn:
            self.assertEqual([], allocations.of_server(conn, server['id']))
        self.admin.ok('DELETE', f'/share-networks/{self.network}')

    def test_server_moves_to_another_network_of_the_same_backend(self):
        server, shares = self.make_shares()
        first = self.instance(shares[0])
        self.admin.action(shares[0]['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.2.0.0/20'})
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'active', field='access_rules_status')
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]['id']}})[
            'snapshot'
        ]['id']
        self.admin.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        driver, network = self.service.managers['alpha'].driver, self.make_network('other')
        driver.write(first, 'kept')
        self.at_rest()
        here = {'host': 'test@alpha', 'new_share_network_id': network}
        self.assertEqual(202, self.start(server, **here)[0])
        self.task_is(server, 'migration_driver_phase1_done')
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.is_as_before(server, shares, network)
        record = self.store('alpha').share(first)
        self.assertEqual((server['id'], True, 'kept'), (record.server, record.exported, record.content))
        self.service.knob('alpha', 'share_server_migration_complete:fail_final_after')
        self.start(server, **here)
        self.task_is(server, 'migration_driver_phase1_done')
        self.act(server, 'migration_complete')
        self.task_is(server, 'migration_error')
        self.service.knob('alpha', '')
        target = self.act(server, 'migration_complete')[1]['destination_share_server_id']
        for share in shares:
            found = self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.assertEqual((target, network), (found['share_server_id'], found['share_network_id']))
            self.assertIn('10.2.', self.paths(share)[0])
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.at_rest()
        record = self.store('alpha').share(first)
        self.assertEqual(
            (target, True, 'kept', [['ip', '10.2.0.0/20', 'rw']]),
            (record.server, record.exported, record.content, list(record.rules.values())),
        )
        self.assertIsNotNone(self.store('alpha').snapshots.get(snapshot))
        self.assertEqual('available', self.admin.ok('GET', f'/snapshots/{snapshot}')['snapshot']['status'])
        self.admin.ok('DELETE', f'/snapshots/{snapshot}')
        self.admin.ok('DELETE', f'/share-networks/{self.network}')

    def idle_server(self, network):
        """Make a server on ``beta`` whose share is deleted; return it."""
        share = self.admin.share(
            share_type='served',
            share_network_id=network,
            scheduler_hints={'only_host': 'test@beta#' + self.pool('beta')},
        )
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.at_rest()
        [server] = self.servers(network)
        return server

    def addresses(self, server):
        with self.service.services.db.reader() as conn:
            return {row.ip_address for row in allocations.of_server(conn, server['id'])}

    def test_idle_server_at_the_destination_is_used(self):
        server, shares = self.make_shares(1)
        network = self.make_network('other')
        idle = self.idle_server(network)
        self.start(server, new_share_network_id=network)
        self.task_is(server, 'migration_driver_phase1_done')
        [target] = self.servers(network)
        self.assertEqual(
            (idle['id'], 'server_migrating_to', server['id']),
            tuple(target[name] for name in ('id', 'status', 'source_share_server_id')),
        )
        with self.service.services.db.reader() as conn:
            before = {row.ip_address for row in allocations.of_server(conn, idle['id'])}
        self.act(server, 'migration_complete')
        found = self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')
        self.assertEqual((network, idle['id']), (found['share_network_id'], found['share_server_id']))
        self.assertTrue(any(address in self.paths(shares[0])[0] for address in before))
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.assertEqual(['active'], [row['status'] for row in self.servers(network)])

    def test_idle_server_is_kept_after_a_cancelled_or_failed_migration(self):
        server, shares = self.make_shares(1)
        network = self.make_network('other')
        idle = self.idle_server(network)
        before = self.addresses(idle)
        for knob, end in (
            ('', 'migration_cancelled'),
            ('share_server_migration_continue:fail_final', 'migration_error'),
        ):
            self.service.knob('beta', knob)
            self.assertEqual(202, self.start(server, new_share_network_id=network)[0])
            if not knob:
                self.task_is(server, 'migration_driver_phase1_done')
                self.act(server, 'migration_cancel')
            self.task_is(server, end)
            self.service.knob('beta', '')
            self.is_as_before(server, shares)
            self.assertEqual(
                [('active', None)],
                [(row['status'], row['source_share_server_id']) for row in self.servers(network)],
            )
            self.assertEqual(before, self.addresses(idle), 'they are those of a server that runs')
        other = self.admin.share(
            share_type='served',
            share_network_id=network,
            scheduler_hints={'only_host': 'test@beta#' + self.pool('beta')},
        )
        found = self.admin.ok('GET', f'/shares/{other["id"]}')['share']
        self.assertEqual(idle['id'], found['share_server_id'], 'it serves as before')

    def test_cancelled_migration_leaves_everything_unchanged(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        server, shares = self.make_shares()
        network = self.make_network('other')
        self.start(server, new_share_network_id=network)
        self.task_is(server, 'migration_driver_phase1_done')
        self.assertEqual((202, None), self.act(server, 'migration_cancel'))
        self.task_is(server, 'migration_cancelled')
        self.assertEqual(
            [('migration_cancel.start', 'api.test'), ('migration_cancel.end', 'share.test@beta')],
            self.told(heard, server, until='share_server.migration_cancel.end')[2:],
        )
        self.is_as_before(server, shares, network)
        self.assertEqual(400, self.act(server, 'migration_cancel')[0])
        self.assertEqual(400, self.act(server, 'migration_complete')[0])

    def test_failed_copy_leaves_everything_unchanged(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        for method in ('share_server_migration_start', 'share_server_migration_continue'):
            server, shares = self.make_shares(1)
            self.service.knob('beta', f'{method}:fail_final')
            self.start(server)
            self.task_is(server, 'migration_error')
            self.is_as_before(server, shares)
            self.assertTrue(self.admin.ok('GET', f'/messages?resource_id={server["id"]}')['messages'])
            said = heard.wait('share_server.migrate.error', share_server_id=server['id'])
            self.assertEqual(('ERROR', True), (said['priority'], method in said['payload']['error']))
            self.service.knob('beta', '')
            self.network = self.make_network('four')

    def test_failed_cut_over_can_be_repeated(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        server, shares = self.make_shares()
        self.service.knob('beta', 'share_server_migration_complete:fail_final')
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        status, told = self.act(server, 'migration_complete')
        self.assertEqual(200, status)
        self.task_is(server, 'migration_error')
        self.assertEqual({'error'}, {row['status'] for row in self.servers()})
        self.assertEqual('error', self.admin.ok('GET', f'/shares/{shares[0]["id"]}')['share']['status'])
        heard.wait('share_server.migration_complete.error', share_server_id=server['id'])
        [message] = self.admin.ok('GET', f'/messages?resource_id={server["id"]}')['messages']
        self.assertIn('complete migration of share server', message['user_message'])
        target = told['destination_share_server_id']
        self.assertEqual(409, self.admin.call('DELETE', f'/share-servers/{target}')[0])
        self.assertEqual(409, self.admin.call('DELETE', f'/share-servers/{server["id"]}')[0])
        self.service.knob('beta', '')
        self.assertEqual((200, told), self.act(server, 'migration_complete'))
        for share in shares:
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.assertEqual([target], [row['id'] for row in self.servers()])

    def test_only_one_of_several_concurrent_requests_succeeds(self):
        server, shares = self.make_shares(1)
        with concurrent.futures.ThreadPoolExecutor(6) as executor:
            answers = sorted(executor.map(lambda _: self.start(server)[0], range(6)))
        self.assertEqual([202, *[409] * 5], answers)
        self.task_is(server, 'migration_driver_phase1_done')
        with concurrent.futures.ThreadPoolExecutor(6) as executor:
            answers = sorted(executor.map(lambda _: self.act(server, 'migration_complete')[0], range(6)))
        self.assertEqual([200, *[400] * 5], answers)
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')

    def test_check_returns_capabilities_and_changes_nothing(self):
        server, _ = self.make_shares(1)
        status, told = self.act(server, 'migration_check', {**_WANTED, 'host': 'test@beta'})
        self.assertEqual(200, status)
        self.assertTrue(told['compatible'])
        self.assertEqual(
            {
                **_WANTED,
                'host': 'test@beta',
                'share_network_id': self.network,
                'new_share_network_id': self.network,
            },
            told['requested_capabilities'],
        )
        self.assertTrue(told['supported_capabilities']['migration_cancel'])
        network = self.make_network('other')
        status, told = self.act(
            server,
            'migration_check',
            {**_WANTED, 'nondisruptive': True, 'host': 'test@beta', 'new_share_network_id': network},
        )
        self.assertEqual((200, False), (status, told['compatible']))
        self.at_rest()

    def test_check_names_the_reason_of_a_refusal(self):
        server, _ = self.make_shares(1)
        for host, word in (
            ('test@beta#no-such-pool', 'has not reported any pool'),
            ('test@still', 'writable'),
            ('test@beta', None),
        ):
            status, told = self.act(server, 'migration_check', {**_WANTED, 'host': host})
            self.assertEqual((200, word is None), (status, told['compatible']))
            self.assertEqual(word is None, told['reason'] is None)
            self.assertIn(word or '', told['reason'] or '')

    def test_share_servers_are_listed_by_task_state(self):
        server, _ = self.make_shares(1)
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        path = f'/share-servers?share_network_id={self.network}&task_state='
        for task_state, wanted in (('migration_driver_phase1_done', [server['id']]), ('migration_error', [])):
            self.assertEqual(
                wanted, [row['id'] for row in self.admin.ok('GET', path + task_state)['share_servers']]
            )
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')

    def test_progress_is_of_phase_two_from_the_request_to_complete_on(self):
        server, [share] = self.make_shares(1)
        self.service.knob('beta', 'share_server_migration_complete:hang')
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        self.assertEqual(1, self.act(server, 'migration_get_progress')[1]['phase'])
        self.act(server, 'migration_complete')
        self.assertEqual(2, self.act(server, 'migration_get_progress')[1]['phase'])
        self.service.knob('beta', '')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_backend_gets_source_shares_and_target_network_in_a_check(self):
        server, [share] = self.make_shares(1)
        driver, network = self.service.managers['beta'].driver, self.make_network('other')
        asked, told = driver.share_server_migration_check_compatibility, []
        self.patch(
            driver,
            'share_server_migration_check_compatibility',
            lambda migration: told.append(migration) or asked(migration),
        )
        status, answer = self.act(
            server, 'migration_check', {**_WANTED, 'host': 'test@beta', 'new_share_network_id': network}
        )
        self.assertEqual((200, True), (status, answer['compatible']))
        [migration] = told
        self.assertEqual(
            (server['id'], 'test@alpha', 'pool1', [self.instance(share)], False),
            (
                migration.source.id,
                migration.source_host,
                migration.pool,
                [one.id for one in migration.shares],
                migration.keeps_addresses,
            ),
        )
        self.assertEqual(
            (network, share['project_id'], [('other', ())]),
            (
                migration.target.share_network_id,
                migration.target.project_id,
                [(place.neutron_subnet_id, place.allocations) for place in migration.target.networks],
            ),
        )

    def shows(self, server):
        """Return the server's status, task state and mark of automatic deletion."""
        found = self.admin.ok('GET', f'/share-servers/{server}')['share_server']
        return found['status'], found['task_state'], found['is_auto_deletable']

    def test_both_servers_show_status_and_task_state_of_each_phase(self):
        server, [share] = self.make_shares(1)
        target = self.reaches_its_target(server)
        self.assertEqual(('server_migrating_to', None, False), self.shows(target))
        self.assertEqual(('server_migrating', 'migration_driver_phase1_done', True), self.shows(server['id']))
        self.service.knob('beta', 'share_server_migration_complete:fail_final')
        self.act(server, 'migration_complete')
        self.task_is(server, 'migration_error')
        self.assertEqual(
            [('error', 'migration_error', False), ('error', 'migration_error', True)],
            [self.shows(target), self.shows(server['id'])],
        )
        self.service.knob('beta', '')
        self.service.knob('alpha', 'teardown_server:hang')
        self.act(server, 'migration_complete')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.assertEqual(
            [('active', 'migration_success', True), ('deleting', 'migration_success', True)],
            [self.shows(target), self.shows(server['id'])],
        )

    def test_target_is_left_in_error_when_a_cancel_fails(self):
        server, _ = self.make_shares(1)
        target = self.reaches_its_target(server)
        self.service.knob('beta', 'share_server_migration_cancel:fail_final')
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'error')
        self.assertEqual(
            [('error', 'migration_error', False), ('active', 'migration_cancelled', True)],
            [self.shows(target), self.shows(server['id'])],
        )
        told = [
            row['user_message']
            for row in self.admin.ok('GET', f'/messages?resource_id={server["id"]}')['messages']
        ]
        self.assertIn('delete the target of the migration', ' '.join(told))
        self.service.knob('beta', '')
        self.admin.ok('DELETE', f'/share-servers/{target}')
        self.admin.wait(f'/share-servers/{target}', 'share_server', 'gone')

    def test_invalid_migrations_are_refused(self):
        server, shares = self.make_shares(1, kind='here')
        nowhere = uuidutils.generate_uuid()
        for status, word, more in (
            (404, 'nothing', {'host': 'nothing'}),
            (404, 'test@nobody', {'host': 'test@nobody'}),
            (400, nowhere, {'new_share_network_id': nowhere}),
            (409, 'already', {'host': 'test@alpha'}),
            (409, 'here', {'host': 'test@gamma'}),
            (400, 'writable', {'writable': 'perhaps'}),
            (409, 'pool', {'host': 'test@beta#no-such-pool'}),
            (
                400,
                'nondisruptive',
                {'nondisruptive': True, 'new_share_network_id': self.make_network('other')},
            ),
        ):
            found, document = self.start(server, **more)
            self.assertEqual((status, True), (found, word in str(document)), (more, document))
        self.assertEqual(404, self.start({'id': nowhere})[0])
        self.assertEqual(400, self.act({'id': nowhere}, 'migration_get_progress')[0])
        for action in ('migration_complete', 'migration_cancel', 'migration_get_progress'):
            self.assertEqual(400, self.act(server, action)[0])
        user = self.caller('p')
        self.assertEqual(
            403,
            user.call(
                'POST',
                f'/share-servers/{server["id"]}/action',
                {'migration_start': {**_WANTED, 'host': 'test@beta'}},
            )[0],
        )
        self.admin.action(shares[0]['id'], 'reset_status', {'status': 'error'})
        found, document = self.start(server)
        self.assertEqual((409, True), (found, shares[0]['id'] in str(document)))
        self.assertIsNone(
            self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['task_state']
        )

    def test_refusals_name_the_pool_that_refused(self):
        """Check that a refusal by the scheduler names and counts no pool of another backend (issue 19, 20)."""
        kind = self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': self.getUniqueString(),
                    'extra_specs': {'driver_handles_share_servers': 'True'},
                }
            },
        )['share_type']['id']
        server, _ = self.make_shares(1, kind=kind)
        status, document = self.start(server, host='test@beta#no-such-pool')
        self.assertEqual(409, status)
        self.assertIn('test@beta#no-such-pool has not reported any pool.', str(document))
        self.admin.ok('POST', f'/types/{kind}/extra_specs', {'extra_specs': {'shiny': 'True'}})
        status, document = self.start(server)
        self.assertEqual(409, status)
        self.assertIn(' refused 1 of 1 pool (pool test@beta#', str(document))
        self.assertNotIn('test@alpha', str(document))

    def test_server_that_is_being_migrated_is_not_migrated_again(self):
        """Check that nobody is told to begin what is running (issue 19, 20)."""
        server, shares = self.make_shares(1)
        self.assertEqual(202, self.start(server)[0])
        self.task_is(server, 'migration_driver_phase1_done')
        wanted = {**_WANTED, 'host': 'test@beta'}
        for path, body in (
            (f'/share-servers/{server["id"]}', wanted),
            (f'/shares/{shares[0]["id"]}', {**wanted, 'preserve_metadata': True}),
        ):
            document = self.admin.call('POST', f'{path}/action', {'migration_start': body})[1]
            [fault] = document.values()
            self.assertEqual('already_migrating', fault['reason'], document)
            self.assertIn('is being migrated already.', fault['message'])
            self.assertIn('Wait for the end of that migration, or cancel it.', str(document))
        self.assertEqual(202, self.act(server, 'migration_cancel')[0])
        self.task_is(server, 'migration_cancelled')
        self.at_rest()

    def test_doctor_finds_nothing_wrong_during_a_migration(self):
        server, shares = self.make_shares(1)
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        mine = {
            finding.id: finding
            for finding in examine.list_findings(self.service.services)
            if finding.state.startswith('server_migrating')
        }
        self.assertEqual({'share server', 'share'}, {finding.what for finding in mine.values()})
        self.assertEqual(3, len(mine), mine)  # source, target, share
        self.assertEqual({False}, {finding.wrong for finding in mine.values()})
        self.assertTrue(
            all(share_server_migration_queries.KIND in finding.why for finding in mine.values()), mine
        )
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.is_as_before(server, shares)

    def set_aside(self, server, task_state, **more):
        """Set the server's migration aside in this task state, as after too many tries; return the operation's id."""
        table, op = models.operations, self.untouched(server)
        with dirty.unguarded(self.service.services.db.engine) as conn:
            conn.execute(
                table.update()
                .where(table.c.id == op.id)
                .values(
                    state='parked',
                    unique_key=None,
                    error='out of reach',
                    data={**op.data, **more.pop('data', {})},
                    **more,
                )
            )
            conn.execute(
                models.share_servers.update()
                .where(models.share_servers.c.id == server['id'])
                .values(task_state=task_state)
            )
        return op.id

    def mend(self, resource_id):
        [found] = [
            finding for finding in doctor.list_findings(self.service.services) if finding.id == resource_id
        ]
        return doctor.mend(self.service.services, found)

    def test_doctor_sets_error_after_the_cut_over_and_completion_can_be_repeated(self):
        server, shares = self.make_shares(1)
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        operation_id = self.set_aside(
            server, 'migration_completing', step=_PLAN.names.index('cut_over'), data={'cut': True}
        )
        self.assertIn('repeat migration_complete', self.mend(operation_id))
        self.task_is(server, 'migration_error')
        self.assertEqual({'error'}, {row['status'] for row in self.servers()})
        self.assertEqual('error', self.admin.ok('GET', f'/shares/{shares[0]["id"]}')['share']['status'])
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        self.assertIn('@beta', self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')['host'])

    def test_doctor_restores_the_source_before_the_cut_over(self):
        server, share = self.with_rule()
        self.start(server, 'test@still', writable=False)
        self.task_is(server, 'migration_driver_phase1_done')
        self.assertEqual(['ro'], self.levels('alpha', share))
        self.mend(self.set_aside(server, 'migration_driver_phase1_done'))
        wrong = [
            finding
            for finding in doctor.list_findings(self.service.services)
            if finding.wrong and finding.mend
        ]
        for finding in wrong:
            doctor.mend(self.service.services, finding)
        self.at_rest()
        self.assertEqual('available', self.admin.ok('GET', f'/shares/{share["id"]}')['share']['status'])
        self.assertEqual((['rw'], False), (self.levels('alpha', share), self.is_read_only(share)))

    def with_rule(self):
        """Make a server and a share with a read-write access rule; return (server, share)."""
        server, [share] = self.make_shares(1)
        self.admin.action(share['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.1.0.0/20'})
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'active', field='access_rules_status')
        self.at_rest()
        return server, share

    def levels(self, backend, share):
        return [level for _, _, level in self.store(backend).share(self.instance(share)).rules.values()]

    def is_read_only(self, share):
        [found] = self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances']
        return found['cast_rules_to_readonly']

    def test_access_rules_are_read_only_during_a_non_writable_migration(self):
        server, share = self.with_rule()
        status, document = self.start(server, 'test@still')
        self.assertEqual((409, True), (status, 'writable' in str(document)))
        for last, there in (('migration_cancel', 'alpha'), ('migration_complete', 'still')):
            self.assertEqual(202, self.start(server, 'test@still', writable=False)[0])
            self.task_is(server, 'migration_driver_phase1_done')
            self.assertEqual((['ro'], True), (self.levels('alpha', share), self.is_read_only(share)))
            [shown] = self.admin.ok('GET', f'/share-access-rules?share_id={share["id"]}')['access_list']
            self.assertEqual(('rw', 'active'), (shown['access_level'], shown['state']))  # unchanged for users
            self.act(server, last)
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.at_rest()
            self.assertEqual((['rw'], False), (self.levels(there, share), self.is_read_only(share)))

    def test_rules_and_addresses_stay_unchanged_during_a_writable_migration(self):
        server, share = self.with_rule()
        self.assertEqual(202, self.start(server)[0])
        self.task_is(server, 'migration_driver_phase1_done')
        target = self.act(server, 'migration_get_progress')[1]['destination_share_server_id']
        with self.service.services.db.reader() as conn:  # it will have those of the source
            self.assertEqual([], list(allocations.of_server(conn, target)))
        self.act(server, 'migration_cancel')
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.at_rest()
        with self.service.services.db.reader() as conn:
            self.assertEqual(
                [], operations.list_of_resource(conn, server['id'], share_server_migration_queries.RULES)
            )

    def test_cancel_is_refused_by_a_backend_without_support(self):
        server, [share] = self.make_shares(1)
        self.start(server, 'test@firm')
        self.task_is(server, 'migration_driver_phase1_done')
        status, document = self.act(server, 'migration_cancel')
        self.assertEqual((400, True), (status, 'test@firm cannot cancel' in str(document)))
        self.task_is(server, 'migration_driver_phase1_done')
        self.assertEqual(200, self.act(server, 'migration_complete')[0])
        self.assertIn('@firm', self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')['host'])

    def test_migration_fails_when_the_source_cannot_be_made_read_only(self):
        server, share = self.with_rule()
        self.service.knob('alpha', 'update_access:fail_final@once')
        self.start(server, 'test@still', writable=False)
        self.task_is(server, 'migration_error')
        self.is_as_before(server, [share])
        self.assertEqual((['rw'], False), (self.levels('alpha', share), self.is_read_only(share)))
        self.service.knob('alpha', 'update_access:fail_final')
        self.start(server, 'test@still', writable=False)
        self.task_is(server, 'migration_error')
        self.is_as_before(server, [share])
        self.admin.wait(f'/shares/{share["id"]}', 'share', 'error', field='access_rules_status')
        message = self.admin.ok('GET', f'/messages?resource_id={share["id"]}')['messages'][0]['user_message']
        self.assertIn('update access rules', message)

    def test_plan_uses_the_cut_over_of_the_module_steps(self):
        self.assertEqual(share_server_migration.STEPS.cut_over, _PLAN.steps[_PLAN.names.index('cut_over')].do)

    def test_task_state_can_be_reset_to_known_values_only(self):
        server, _ = self.make_shares(1)
        for given, shown in (
            ('migration_error', 'migration_error'),
            ('server_migration_cancelled', 'migration_cancelled'),
            ('migration_driver_starting', 'migration_driver_starting'),
            (None, None),
        ):
            self.assertEqual(202, self.act(server, 'reset_task_state', {'task_state': given})[0])
            self.task_is(server, shown)
        self.assertEqual(400, self.act(server, 'reset_task_state', {'task_state': 'asleep'})[0])
