# SPDX-License-Identifier: Apache-2.0
"""Share servers with shares on them: the choice of one for a share, their details, and one that does not run."""

from manila_lite import context, doctor, values
from manila_lite.db import models
from manila_lite.db.queries import allocations, share_server_queries
from manila_lite.tests import waiting
from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base, served
from manila_lite.workflow import ensure

_UPDATE = 'update_share_server_network_allocations'


class Filled(served.ServedTest):
    """Share servers for at most 3 GiB of shares."""

    BACKENDS = {'alpha': 'driver_handles_share_servers = true\nmax_share_server_size = 3\n'}

    def server_of(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}')['share']['share_server_id']

    def test_server_takes_shares_up_to_its_size(self):
        network = self.network()
        first, second, third = (self.server_of(self.share(network, size=size)) for size in (2, 1, 1))
        self.assertEqual(first, second)
        self.assertNotEqual(first, third)
        self.assertEqual(third, self.server_of(self.share(network, size=2)))

    def test_empty_server_takes_a_share_of_its_size(self):
        network = self.network()
        share = self.share(network)
        server = self.server_of(share)
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual(server, self.server_of(self.share(network, size=3)))


class Subnets(served.ServedTest):
    """Share servers of one share each."""

    def used(self, shares=1):
        """Make a network with so many shares; return its id and the ids of its servers."""
        network = self.network()
        for _ in range(shares):
            self.share(network)
        return network, [server.id for server in self.servers(network)]

    def add(self, network):
        """Add a subnet to the network; return the ids of all its subnets by Neutron subnet."""
        self.user.ok(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )
        self.settled(network)
        return {
            subnet['neutron_subnet_id']: subnet['id']
            for subnet in self.shown(network)['share_network_subnets']
        }

    def known(self, server):
        """Return the server's details, which its backend keeps in its row."""
        return self.admin.ok('GET', f'/share-servers/{server}/details')['details']

    def test_details_of_a_server_change_with_its_subnets(self):
        network, [server] = self.used()
        before = self.known(server)
        subnets = self.add(network)
        self.assertEqual(subnets['blue-v4'], before['subnets'])
        self.assertEqual(
            {**before, 'subnets': f'{subnets["blue-v4"]},{subnets["blue-v6"]}'}, self.known(server)
        )

    def test_failure_on_one_server_leaves_the_subnet_on_the_other(self):
        network, idents = self.used(shares=2)
        self.fault(f'{_UPDATE}:fail_final@once')
        subnets = self.add(network)
        with self.service.services.db.reader() as conn:
            places_of = share_server_queries.subnets_of(conn, idents)
        failed, kept = sorted(self.servers(network), key=lambda server: len(places_of[server.id]))
        self.assertEqual(['active', 'active'], [failed.status, kept.status])
        with self.service.services.db.reader() as conn:
            found = {
                resource_id: {place.neutron_subnet_id for place in places}
                for resource_id, places in share_server_queries.subnets_of(conn, idents).items()
            }
            addresses = {resource_id: len(allocations.of_server(conn, resource_id)) for resource_id in idents}
        self.assertEqual({failed.id: {'blue-v4'}, kept.id: set(subnets)}, found)
        self.assertEqual({failed.id: 1, kept.id: 2}, addresses)


class Places(served.ServedTest):
    """The new places of shares and snapshots that a backend reports with a new subnet (issue 19, 8)."""

    BACKENDS = {'alpha': 'driver_handles_share_servers = true\ndummy_pools = pool1, pool2\n'}

    def test_reported_locations_of_snapshots_and_pools_of_shares_are_stored(self):
        self.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'mounting',
                    'extra_specs': {
                        'driver_handles_share_servers': 'True',
                        'snapshot_support': 'True',
                        'mount_snapshot_support': 'True',
                    },
                }
            },
        )
        network = self.network()
        share = self.user.share(share_type='mounting', share_network_id=network)['id']
        snapshot = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.user.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.assertEqual(1, len(self.paths(snapshot)))
        shown = self.admin.ok('GET', f'/shares/{share}/instances')['share_instances'][0]
        pool = {'pool1': 'pool2', 'pool2': 'pool1'}[shown['host'].partition('#')[2]]
        store = self.service.managers['alpha'].driver.store
        with store.locked():
            record = store.share(shown['id'])
            record.pool = pool
            store.shares.put(record)
        before = len(self.calls('serve_snapshot'))
        self.user.ok(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )
        self.settled(network)
        places = self.user.ok('GET', f'/shares/{share}/export_locations')['export_locations']
        self.assertEqual(
            [place['path'].replace(shown['id'], snapshot) for place in places], self.paths(snapshot)
        )
        self.assertEqual(before, len(self.calls('serve_snapshot')))
        self.assertEqual(f'test@alpha#{pool}', self.admin.ok('GET', f'/shares/{share}')['share']['host'])

    def paths(self, snapshot):
        found = self.user.ok('GET', f'/snapshots/{snapshot}/export-locations')[
            'share_snapshot_export_locations'
        ]
        return [place['path'] for place in found]


class Failed(served.ServedTest):
    """Networks with a share server that could not be created (issue 19, 7). No server is ever cleaned up."""

    EXTRA = '[DEFAULT]\nautomatic_share_server_cleanup = false\n'

    def failed(self, network):
        """Return a share of the network whose server could not be created."""
        self.fault('setup_server:fail_final')
        share = self.share(network, wait='error')
        self.service.knob('alpha', '')
        return share

    def add(self, network):
        return self.user.call(
            'POST',
            f'/share-networks/{network}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )[0]

    def test_subnet_is_added_beside_a_server_that_failed_at_its_creation(self):
        network = self.network()
        share = self.failed(network)
        self.assertEqual(['error'], [server.status for server in self.servers(network)])
        self.assertEqual(200, self.add(network))
        self.assertEqual('active', self.shown(network)['status'])
        self.share(network)
        with self.service.services.db.reader() as conn:
            addresses = {
                server.status: len(allocations.of_server(conn, server.id)) for server in self.servers(network)
            }
        self.assertEqual({'error': 0, 'active': 2}, addresses)
        self.user.ok('DELETE', f'/shares/{share["id"]}')

    def test_other_servers_of_the_network_get_the_subnet(self):
        network = self.network()
        self.share(network)
        share = self.failed(network)
        self.user.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual(200, self.add(network))
        self.settled(network)
        with self.service.services.db.reader() as conn:
            addresses = {
                server.status: len(allocations.of_server(conn, server.id)) for server in self.servers(network)
            }
        self.assertEqual({'error': 0, 'active': 2}, addresses)

    def test_server_in_error_with_a_share_keeps_a_subnet_out(self):
        network = self.network()
        self.share(network)
        [server] = self.servers(network)
        self.admin.ok('POST', f'/share-servers/{server.id}/action', {'reset_status': {'status': 'error'}})
        self.assertEqual(409, self.add(network))


class Zones(served.ServedTest):
    """Backends in two zones, and a network with a subnet in each."""

    BACKENDS = {
        name: f'driver_handles_share_servers = true\nbackend_availability_zone = {zone}\n'
        for name, zone in (('alpha', 'here'), ('beta', 'there'))
    }

    def test_a_server_is_in_the_subnet_of_the_zone_of_its_share(self):
        network = self.user.ok(
            'POST',
            '/share-networks',
            {
                'share_network': {
                    'neutron_net_id': 'blue',
                    'neutron_subnet_id': 'blue-v4',
                    'availability_zone': 'here',
                }
            },
        )['share_network']['id']
        self.user.ok(
            'POST',
            f'/share-networks/{network}/subnets',
            {
                'share-network-subnet': {
                    'neutron_net_id': 'blue',
                    'neutron_subnet_id': 'blue-v6',
                    'availability_zone': 'there',
                }
            },
        )
        for zone, subnet in (('here', 'blue-v4'), ('there', 'blue-v6')):
            share = self.share(network, availability_zone=zone)
            server = self.admin.ok('GET', f'/shares/{share["id"]}')['share']['share_server_id']
            with self.service.services.db.reader() as conn:
                places = share_server_queries.subnets_of(conn, [server])[server]
            self.assertEqual([subnet], [place.neutron_subnet_id for place in places])


class Down(served.ServedTest):
    """A share server that does not run, when its backend ensures its shares and servers."""

    def ensured(self):
        """Ask the backend to ensure its shares, and wait for the end; return the operation."""
        answers = []

        def accepted():  # as soon as no run that the manager began by itself is open
            answers.append(self.admin.call('POST', '/services/ensure', {'host': 'test@alpha'}))
            return answers[-1][0] == 202

        base.eventually(accepted, lambda: answers[-1][:2])
        path = f'/operations/{answers[-1][2]["Operation-Id"]}'
        base.eventually(lambda: self.admin.ok('GET', path)['operation']['state'] != 'open', 'it does not end')
        return self.admin.ok('GET', path)['operation']

    def is_told(self, share):
        """Check that the run fails, and that the owner gets a message with the reason."""
        ended = self.ensured()
        self.assertEqual('failed', ended['state'])
        self.assertIn(
            '1 share and 1 share server could not be ensured. Its share server does not run.', ended['error']
        )
        self.assertIn('Its share server does not run.', str(self.messages(share)))

    def test_share_is_not_ensured_when_its_server_cannot_be_ensured(self):
        share = self.share(self.network())['id']
        self.fault('ensure_servers:fail')
        self.is_told(share)
        self.service.knob('alpha', '')
        self.assertEqual('done', self.ensured()['state'])

    def test_only_the_server_that_does_not_run_is_tried_again(self):
        """Try each share server again on its own, and give the reason of each share on it (issue 19, 10)."""
        networks = [self.network(), self.network()]
        bad, _ = [self.share(network)['id'] for network in networks]
        [[down], [well]] = [self.servers(network) for network in networks]
        self.addCleanup(self.put_away, down.id)
        self.addCleanup(self.put_away, well.id)
        driver = self.service.managers['alpha'].driver
        asked, plain = [], driver.ensure_servers

        def ensure_servers(servers):
            # A server of another test may not be gone yet, and the manager may begin a run of its own.
            asked.extend(server.id for server in servers if server.id in (down.id, well.id))
            return plain(servers) | {
                server.id: values.ServerResult(error='No cable.')
                for server in servers
                if server.id == down.id
            }

        self.patch(driver, 'ensure_servers', ensure_servers)
        report = self.ensured()['report']
        self.assertEqual(
            ({down.id: 'No cable.'}, {bad: 'Its share server does not run. No cable.'}),
            (report['servers'], report['reasons']),
        )
        self.assertIn(well.id, asked)
        self.assertGreater(asked.count(down.id), asked.count(well.id))
        self.assertIn('No cable.', str(self.messages(bad)))

    def test_server_without_an_address_gets_one_and_its_share_is_ensured(self):
        network = self.network()
        share = self.share(network)['id']
        [server] = self.servers(network)
        table = models.network_allocations
        with self.service.services.db.writer() as conn:  # no server runs without an address
            conn.execute(table.delete().where(table.c.share_server_id == server.id))
        self.addCleanup(self.put_away, server.id)
        ended = self.ensured()
        self.assertEqual(('done', ended['progress']['total']), (ended['state'], ended['progress']['done']))
        with self.service.services.db.reader() as conn:
            self.assertEqual(1, len(allocations.of_server(conn, server.id)))
        self.admin.wait(f'/shares/{share}', 'share', 'available')

    def put_away(self, resource_id):
        with self.service.services.db.writer() as conn:
            conn.execute(
                models.share_instances.update()
                .where(models.share_instances.c.share_server_id == resource_id)
                .values(status='error')
            )
            conn.execute(
                models.share_servers.update()
                .where(models.share_servers.c.id == resource_id)
                .values(status='error')
            )


class InError(served.ServedTest):
    """A share server in error that has a share, when its host was started anew (issue 19, 2)."""

    def setUp(self):
        super().setUp()
        self.manager = self.service.managers['alpha']
        self.shared = self.share(self.network())
        self.instance = self.admin.ok('GET', f'/shares/{self.shared["id"]}/instances')['share_instances'][0]
        self.server_id = self.instance['share_server_id']
        self.set_status('error')

    def set_status(self, status):
        self.admin.ok('POST', f'/share-servers/{self.server_id}/action', {'reset_status': {'status': status}})

    def status(self):
        return self.admin.ok('GET', f'/share-servers/{self.server_id}')['share_server']['status']

    def halt(self):
        """Stop the server and its exports, as the host does when it goes down."""
        lose_exports(self.manager.driver)

    def restarted(self):
        """Have the backend restore its servers and shares, as after a start. Return the operation."""
        self.halt()
        ctx = context.admin(self.service.services)
        with ctx.db.writer() as conn:
            wake = ensure.ask_once(conn, ctx, 'test@alpha', 'start')
        wake.send(ctx)
        return self.ended()

    def ended(self):
        """Wait until no run over the shares is open; return the last one."""
        path = (
            '/operations?kind=service.ensure&host=test@alpha&sort_key=created_at&sort_dir=desc&all_tenants=1'
        )

        def last():
            found = self.admin.ok('GET', path)['operations'][0]
            return found if found['state'] != 'open' else None

        return waiting.until(last, 'it does not end')  # after which the manager may begin another one

    def is_served(self):
        share = self.manager.driver.store.share(self.instance['id'])
        return self.record(self.server_id).running and share.exported

    def wrong(self):
        """Return the doctor's findings by id, and mend them."""
        found = {
            finding.id: finding for finding in doctor.list_findings(self.service.services) if finding.wrong
        }
        for finding in found.values():
            doctor.mend(self.service.services, finding)
        self.ended()
        return found

    def test_server_in_error_runs_again_and_serves_its_share(self):
        self.assertEqual('done', self.restarted()['state'])
        self.assertTrue(self.is_served())
        self.assertEqual('error', self.status())

    def test_server_in_deletion_does_not_run_again(self):
        self.set_status('deleting')
        self.addCleanup(self.set_status, 'active')
        self.restarted()
        self.assertFalse(self.is_served())

    def test_doctor_sets_the_server_to_active_when_it_runs(self):
        self.halt()
        found = self.wrong()[self.server_id]  # beside those of other tests
        self.assertIn('clients may still use its shares', found.why)
        self.assertTrue(self.is_served())
        self.assertEqual('active', self.status())
        self.assertEqual({}, self.wrong())

    def test_share_that_cannot_be_reached_is_reported(self):
        self.fault('ensure_servers:fail_final')
        self.restarted()
        self.assertIn('Its share server does not run.', str(self.messages(self.shared['id'])))
        found = self.wrong()  # its own, and those of other tests on this backend
        self.assertEqual('not served', found[self.shared['id']].state)
        self.assertEqual(('error', 'error'), (found[self.server_id].state, self.status()))
        self.service.knob('alpha', '')
        self.assertLessEqual({self.shared['id'], self.server_id}, set(self.wrong()))
        self.assertTrue(self.is_served())
        self.assertEqual(('active', {}), (self.status(), self.wrong()))
