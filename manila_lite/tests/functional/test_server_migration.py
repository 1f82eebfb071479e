# SPDX-License-Identifier: Apache-2.0
"""A share server moves to another backend in two phases, with everything on it."""

import concurrent.futures

import sqlalchemy as sa
from oslo_utils import uuidutils

from manila_lite.db import allocations, models, server_migrations
from manila_lite.manager import server_migration
from manila_lite.operations.doctor import examine
from manila_lite.tests.functional import base
from manila_lite.tests.functional.test_budgets import counting

_NETWORKS = """
networks:
- id: net
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/20, gateway: 10.1.0.1}
  - {id: other, cidr: 10.2.0.0/20}
"""
_BACKEND = ('driver_handles_share_servers = true\nserver_migration_driver_continue_update_interval = 0.1\n'
            'backend_availability_zone = {}\n')
_WANTED = {'writable': True, 'nondisruptive': False, 'preserve_snapshots': True}


class Migration(base.ServiceTest):
    """From ``alpha`` to ``beta``, in one zone; ``gamma`` is in another."""

    BACKENDS = {'alpha': _BACKEND.format('here'), 'beta': _BACKEND.format('here'), 'gamma': _BACKEND.format('there')}
    EXTRA = '[quota]\nshare_networks = -1\nshares = -1\ngigabytes = -1\nsnapshots = -1\nsnapshot_gigabytes = -1\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        file = cls.service.state / 'networks.yaml'
        file.write_text(_NETWORKS)
        cls.service.conf.set_override('file', str(file), 'standalone_network')
        for name, more in (('served', {}), ('here', {'availability_zones': 'here'})):
            cls.admin.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': {
                'driver_handles_share_servers': 'True', 'snapshot_support': 'True', **more}}})

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')
        self.network = self.make_network('four')

    def make_network(self, subnet):
        return self.admin.ok('POST', '/share-networks', {'share_network': {
            'neutron_net_id': 'net', 'neutron_subnet_id': subnet}})['share_network']['id']

    def make_shares(self, count=2, kind='served', backend='alpha'):
        """Shares on one server of a backend. Returns (server, shares)."""
        host = f'test@{backend}#' + self.pool(backend)
        shares = [self.admin.share(share_type=kind, share_network_id=self.network, scheduler_hints={'only_host': host})
                  for _ in range(count)]
        [server] = self.servers()
        return server, shares

    def pool(self, backend):
        pools = self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
        return next(row['name'].partition('#')[2] for row in pools if f'@{backend}#' in row['name'])

    def paths(self, share):
        places = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        return [place['path'] for place in places]

    def servers(self, network=None):
        return self.admin.ok('GET', f'/share-servers?share_network_id={network or self.network}')['share_servers']

    def act(self, server, action, body=None):
        status, document, _ = self.admin.call('POST', f'/share-servers/{server["id"]}/action', {action: body})
        return status, document

    def start(self, server, host='test@beta', **more):
        return self.act(server, 'migration_start', {**_WANTED, 'host': host, **more})

    def task_is(self, server, state):
        base.eventually(lambda: self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['task_state'] == state,
                        f'not {state}')

    def store(self, backend):
        return self.service.managers[backend].driver.store

    def at_rest(self):
        """Nothing is being migrated and every operation has ended."""
        def ended():
            with self.service.services.db.reader() as conn:
                return not conn.execute(sa.select(models.operations.c.id).where(models.operations.c.state == 'open')).first()
        base.eventually(ended, 'operations are open')

    def test_all_of_it(self):
        server, shares = self.make_shares()
        user = self.caller('p')
        self.admin.action(shares[0]['id'], 'allow_access', {'access_type': 'ip', 'access_to': '10.1.0.0/20'})
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'active', field='access_rules_status')
        snapshot = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': shares[0]['id']}})['snapshot']
        self.admin.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')
        self.at_rest()
        with self.service.services.db.reader() as conn:
            before = {row.ip_address for row in allocations.of_server(conn, server['id'])}
        old = self.paths(shares[0])
        self.assertEqual((202, None), self.start(server))
        self.task_is(server, 'migration_driver_phase1_done')
        self.assertEqual('server_migrating', self.admin.ok('GET', f'/shares/{shares[1]["id"]}')['share']['status'])
        self.assertEqual('server_migrating', user.ok('GET', f'/snapshots/{snapshot["id"]}')['snapshot']['status'])
        self.service.managers['alpha'].driver.write(self.instance(shares[0]), 'written late')
        status, told = self.act(server, 'migration_get_progress')
        self.assertEqual((200, 100, 'migration_driver_phase1_done'), (status, told['total_progress'], told['task_state']))
        target = told['destination_share_server_id']
        self.assertEqual((200, {'destination_share_server_id': target}), self.act(server, 'migration_complete'))
        for share in shares:
            found = self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
            self.assertIn('@beta#', found['host'])
            self.assertEqual(target, found['share_server_id'])
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.at_rest()
        self.assertEqual('available', user.ok('GET', f'/snapshots/{snapshot["id"]}')['snapshot']['status'])
        record = self.store('beta').share(self.instance(shares[0]))
        self.assertEqual(('written late', [['ip', '10.1.0.0/20', 'rw']]), (record.content, list(record.rules.values())))
        self.assertIsNotNone(self.store('beta').snapshots.get(snapshot['id']))
        alpha = self.store('alpha')
        self.assertEqual(([], None, None), (self.mine('alpha', shares), alpha.servers.get(server['id']),
                                            alpha.snapshots.get(snapshot['id'])))
        with self.service.services.db.reader() as conn:
            self.assertEqual(before, {row.ip_address for row in allocations.of_server(conn, target)})
        new = self.paths(shares[0])
        self.assertEqual(old, new)          # the network is the same, so the addresses are
        self.assertEqual(100, self.act(server, 'migration_get_progress')[1]['total_progress'])

    def instance(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}/instances')['share_instances'][0]['id']

    def mine(self, backend, shares):
        return [share['id'] for share in shares if self.store(backend).shares.get(self.instance(share))]

    def test_into_another_network(self):
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

    def test_cancelled(self):
        server, shares = self.make_shares()
        network = self.make_network('other')
        self.start(server, new_share_network_id=network)
        self.task_is(server, 'migration_driver_phase1_done')
        self.assertEqual((202, None), self.act(server, 'migration_cancel'))
        self.task_is(server, 'migration_cancelled')
        self.is_as_before(server, shares, network)
        self.assertEqual(400, self.act(server, 'migration_cancel')[0])
        self.assertEqual(400, self.act(server, 'migration_complete')[0])

    def is_as_before(self, server, shares, network=None):
        self.at_rest()
        self.assertEqual('active', self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['status'])
        for share in shares:
            found = self.admin.ok('GET', f'/shares/{share["id"]}')['share']
            self.assertEqual(('available', server['id']), (found['status'], found['share_server_id']))
        self.assertEqual([], self.mine('beta', shares))
        self.assertEqual([server['id']], [row['id'] for row in self.servers()])
        if network:
            self.assertEqual([], self.servers(network))

    def test_a_backend_that_fails_while_copying(self):
        for method in ('share_server_migration_start', 'share_server_migration_continue'):
            server, shares = self.make_shares(1)
            self.service.knob('beta', f'{method}:fail_final')
            self.start(server)
            self.task_is(server, 'migration_error')
            self.is_as_before(server, shares)
            self.assertTrue(self.admin.ok('GET', f'/messages?resource_id={server["id"]}')['messages'])
            self.service.knob('beta', '')
            self.network = self.make_network('four')

    def test_a_backend_that_fails_in_the_cut_over(self):
        server, shares = self.make_shares()
        self.service.knob('beta', 'share_server_migration_complete:fail_final')
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        status, told = self.act(server, 'migration_complete')
        self.assertEqual(200, status)
        self.task_is(server, 'migration_error')
        self.assertEqual({'error'}, {row['status'] for row in self.servers()})
        self.assertEqual('error', self.admin.ok('GET', f'/shares/{shares[0]["id"]}')['share']['status'])
        target = told['destination_share_server_id']
        self.assertEqual(409, self.admin.call('DELETE', f'/share-servers/{target}')[0])
        self.assertEqual(409, self.admin.call('DELETE', f'/share-servers/{server["id"]}')[0])
        self.service.knob('beta', '')
        self.assertEqual((200, told), self.act(server, 'migration_complete'))
        for share in shares:
            self.admin.wait(f'/shares/{share["id"]}', 'share', 'available')
        self.admin.wait(f'/share-servers/{server["id"]}', 'share_server', 'gone')
        self.assertEqual([target], [row['id'] for row in self.servers()])

    def test_who_starts_at_once(self):
        server, shares = self.make_shares(1)
        with concurrent.futures.ThreadPoolExecutor(6) as hands:
            answers = sorted(hands.map(lambda _: self.start(server)[0], range(6)))
        self.assertEqual([202, *[409] * 5], answers)
        self.task_is(server, 'migration_driver_phase1_done')
        with concurrent.futures.ThreadPoolExecutor(6) as hands:
            answers = sorted(hands.map(lambda _: self.act(server, 'migration_complete')[0], range(6)))
        self.assertEqual([200, *[400] * 5], answers)
        self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')

    def test_checked(self):
        server, _ = self.make_shares(1)
        status, told = self.act(server, 'migration_check', {**_WANTED, 'host': 'test@beta'})
        self.assertEqual(200, status)
        self.assertTrue(told['compatible'])
        self.assertEqual({**_WANTED, 'host': 'test@beta', 'share_network_id': self.network,
                          'new_share_network_id': self.network}, told['requested_capabilities'])
        self.assertTrue(told['supported_capabilities']['migration_cancel'])
        network = self.make_network('other')
        status, told = self.act(server, 'migration_check', {
            **_WANTED, 'nondisruptive': True, 'host': 'test@beta', 'new_share_network_id': network})
        self.assertEqual((200, False), (status, told['compatible']))
        self.at_rest()

    def test_refused(self):
        server, shares = self.make_shares(1, kind='here')
        nowhere = uuidutils.generate_uuid()
        for status, word, more in (
                (400, 'nothing', {'host': 'nothing'}), (400, 'test@nobody', {'host': 'test@nobody'}),
                (400, nowhere, {'new_share_network_id': nowhere}), (409, 'already', {'host': 'test@alpha'}),
                (409, 'here', {'host': 'test@gamma'}), (400, 'writable', {'writable': 'perhaps'}),
                (409, 'pool', {'host': 'test@beta#no-such-pool'}),
                (400, 'nondisruptive', {'nondisruptive': True, 'new_share_network_id': self.make_network('other')})):
            found, document = self.start(server, **more)
            self.assertEqual((status, True), (found, word in str(document)), (more, document))
        self.assertEqual(404, self.start({'id': nowhere})[0])
        self.assertEqual(404, self.act({'id': nowhere}, 'migration_get_progress')[0])
        for action in ('migration_complete', 'migration_cancel', 'migration_get_progress'):
            self.assertEqual(400, self.act(server, action)[0])
        user = self.caller('p')
        self.assertEqual(403, user.call('POST', f'/share-servers/{server["id"]}/action', {
            'migration_start': {**_WANTED, 'host': 'test@beta'}})[0])
        self.admin.action(shares[0]['id'], 'reset_status', {'status': 'error'})
        found, document = self.start(server)
        self.assertEqual((409, True), (found, shares[0]['id'] in str(document)))
        self.assertIsNone(self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['task_state'])

    def test_statements_do_not_grow_with_the_shares(self):
        costs = []
        for count in (2, 20):
            self.network = self.make_network('four')
            server, shares = self.make_shares(count)
            self.at_rest()
            with counting(self.service.services.db.engine) as started:
                self.assertEqual(202, self.start(server)[0])
            self.task_is(server, 'migration_driver_phase1_done')
            with counting(self.service.services.db.engine) as completed:
                self.assertEqual(200, self.act(server, 'migration_complete')[0])
                self.admin.wait(f'/shares/{shares[0]["id"]}', 'share', 'available')
            # Looks for the answer of the backend, and for work, depend on the time that things take.
            asked = [text for thread, text in started.statements if thread == 'MainThread' and 'FROM operations' not in text]
            moved = [text for thread, text in completed.statements
                     if thread != 'MainThread' and ('share_instances' in text or 'export_locations' in text)]
            costs.append((len(asked), len(moved)))
        (few_started, few_completed), (many_started, many_completed) = costs
        self.assertLessEqual(many_started, few_started * 1.2, costs)
        self.assertLessEqual(many_completed, few_completed * 1.2, costs)

    def test_what_the_doctor_says_of_it(self):
        server, shares = self.make_shares(1)
        self.start(server)
        self.task_is(server, 'migration_driver_phase1_done')
        mine = {finding.id: finding for finding in examine.look(self.service.services)
                if finding.state.startswith('server_migrating')}
        self.assertEqual({'share server', 'share'}, {finding.what for finding in mine.values()})
        self.assertEqual(3, len(mine), mine)            # source, target, share
        self.assertEqual({False}, {finding.wrong for finding in mine.values()})
        self.assertTrue(all(server_migrations.KIND in finding.why for finding in mine.values()), mine)
        self.act(server, 'migration_cancel')
        self.task_is(server, 'migration_cancelled')
        self.is_as_before(server, shares)

    def test_there_is_one_way_back(self):
        [plan] = [plan for plan in server_migration.PLANS if plan.kind == server_migrations.KIND]
        self.assertIs(server_migration.cut_over, plan.steps[server_migrations.CUT_OVER].do)

    def test_task_state_by_hand(self):
        server, _ = self.make_shares(1)
        for given, shown in (('migration_error', 'migration_error'), ('server_migration_cancelled', 'migration_cancelled'),
                             ('migration_driver_starting', 'migration_driver_starting'), (None, None)):
            self.assertEqual(202, self.act(server, 'reset_task_state', {'task_state': given})[0])
            self.task_is(server, shown)
        self.assertEqual(400, self.act(server, 'reset_task_state', {'task_state': 'asleep'})[0])
