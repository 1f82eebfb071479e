# SPDX-License-Identifier: Apache-2.0
"""Existing share servers of a backend are managed, and unmanaged again."""

from manila_lite.db import models
from manila_lite.db.queries import allocations, unused_share_servers
from manila_lite.drivers.dummy.store import ServerRecord
from manila_lite.manager.plans import share_server_upkeep
from manila_lite.tests.dummy_reboot import lose_exports
from manila_lite.tests.functional import base, served


class ManagedServers(served.ServedTest):
    """Backend alpha with share servers, and backend beta without, in another zone."""

    BACKENDS = {
        'alpha': 'driver_handles_share_servers = true\nbackend_availability_zone = here\n',
        'beta': 'backend_availability_zone = there\n',
    }

    def setUp(self):
        super().setUp()
        self.addCleanup(self.service.conf.clear_override, 'unused_share_server_cleanup_interval')
        self.network_id = self.network()
        self.address = self.unused_address()
        self.store = self.service.managers['alpha'].driver.store
        self.addCleanup(self.clean)

    def clean(self):
        """Remove all servers, including unmanaged ones, and all networks."""
        for server in self.servers(self.network_id):
            self.admin.call('POST', f'/share-servers/{server.id}/action', {'unmanage': {'force': True}})
        base.eventually(lambda: not self.servers(self.network_id), 'a server stays')
        with self.store.locked():
            for record in self.store.servers.all():
                self.store.servers.drop(record.id)
        with self.service.services.db.writer() as conn:
            conn.execute(models.share_networks.delete())

    def there(self, name='nas1', *addresses):
        """Add a share server at the backend that is not managed; return its name."""
        with self.store.locked():
            self.store.servers.put(
                ServerRecord(name, {'lan': list(addresses or (self.address,))}, ours=False)
            )
        return name

    def ask(self, expected=202, caller=None, version=None, **changes):
        """Ask to manage a server; return the server, or the fault."""
        body = {'host': 'test@alpha', 'share_network_id': self.network_id, 'identifier': 'nas1'} | changes
        status, document, _ = (caller or self.admin).call(
            'POST', '/share-servers/manage', {'share_server': body}, version=version
        )
        self.assertEqual(expected, status, document)
        return next(iter(document.values()))

    def managed(self, status='active', **changes):
        """Manage a server; return it when it has this status."""
        return self.ends(self.ask(**changes)['id'], status)

    def ends(self, server_id, status):
        return self.admin.wait(f'/share-servers/{server_id}', 'share_server', status)

    def unmanage(self, server_id, expected=202, **body):
        status, document, _ = self.admin.call(
            'POST', f'/share-servers/{server_id}/action', {'unmanage': body or None}
        )
        self.assertEqual(expected, status, document)
        return document

    def addresses(self, resource_id):
        with self.service.services.db.reader() as conn:
            return [row.ip_address for row in allocations.of_server(conn, resource_id)]

    def told(self, resource_id):
        """Return the user messages about a server, as one text."""
        return ' '.join(
            found['user_message']
            for found in self.admin.ok('GET', f'/messages?resource_id={resource_id}')['messages']
        )

    def test_existing_server_is_managed_used_and_unmanaged(self):
        self.there()
        asked = self.ask(driver_options={'hint': 1, 'none': None})
        self.assertEqual('manage_starting', asked['status'])
        self.assertEqual(('nas1', False), (asked['identifier'], asked['is_auto_deletable']))
        server = self.ends(asked['id'], 'active')
        self.assertTrue(server['network_allocation_update_support'])
        self.assertEqual(f'dummy-{server["id"]}', server['backend_details']['server_name'])
        self.assertEqual([self.address], self.addresses(server['id']))
        share = self.share(self.network_id)
        self.assertEqual(
            [server['id']], [row.id for row in self.servers(self.network_id)], 'the share got another server'
        )
        [export] = self.admin.ok('GET', f'/shares/{share["id"]}/export_locations')['export_locations']
        self.assertIn(self.address, export['path'])
        fault = self.unmanage(server['id'], 400)['badRequest']
        self.assertEqual('share_server_in_use', fault['reason'])
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.unmanage(server['id'])
        self.ends(server['id'], 'gone')
        self.assertEqual([], self.addresses(server['id']))
        self.assertFalse(self.store.servers.get(server['id']).ours)
        again = self.managed()
        self.assertNotEqual(server['id'], again['id'])
        self.assertEqual([self.address], self.addresses(again['id']))

    def test_created_server_is_unmanaged_and_managed_again_by_its_id(self):
        share = self.share(self.network_id)
        [made] = self.servers(self.network_id)
        before = self.addresses(made.id)
        self.admin.ok('DELETE', f'/shares/{share["id"]}')
        self.assertEqual('identifier_in_use', self.ask(400, identifier=made.id)['reason'])
        self.unmanage(made.id, force=False)
        self.ends(made.id, 'gone')
        back = self.managed(identifier=made.id)
        self.assertEqual(before, self.addresses(back['id']))

    def test_unused_managed_server_is_not_cleaned_up(self):
        self.there()
        server = self.managed()
        self.service.conf.set_override('unused_share_server_cleanup_interval', 0)
        with self.service.services.db.reader() as conn:
            self.assertEqual([], unused_share_servers.list_unused(conn, 'test@alpha', -60))
        share_server_upkeep.remove_unused(self.service.managers['alpha'])
        self.assertEqual(
            'active', self.admin.ok('GET', f'/share-servers/{server["id"]}')['share_server']['status']
        )
        self.assertEqual(409, self.admin.call('DELETE', f'/share-networks/{self.network_id}')[0])

    def test_managed_server_is_served_again_after_a_restart(self):
        self.there()
        server = self.managed()
        lose_exports(self.service.managers['alpha'].driver)
        self.assertEqual({}, share_server_upkeep.restore(self.service.managers['alpha']))
        record = self.store.servers.get(server['id'])
        self.assertEqual((True, True, 'nas1'), (record.running, record.ours, record.name))

    def test_unknown_or_unusable_server_becomes_manage_error(self):
        self.there('elsewhere', '192.0.2.1')
        self.there('odd', self.address, '192.0.2.1')
        self.there('bare')
        with self.store.locked():
            self.store.servers.put(ServerRecord('bare', {}, ours=False))
        for identifier, why in (
            ('unknown', 'no share server unknown'),
            ('elsewhere', '192.0.2.1, which are not in subnet'),
            ('odd', '192.0.2.1, which are not'),
            ('bare', 'has 0 addresses'),
        ):
            server = self.managed('manage_error', identifier=identifier)
            self.assertIn(why, self.told(server['id']))
            self.assertEqual([], self.addresses(server['id']))
            self.unmanage(server['id'])
            self.ends(server['id'], 'gone')

    def test_server_with_an_address_in_use_becomes_manage_error(self):
        self.there('one')
        self.there('two')
        first = self.managed(identifier='one')
        second = self.managed('manage_error', identifier='two')
        self.assertIn('in use by another', self.told(second['id']))
        self.assertEqual(([self.address], []), (self.addresses(first['id']), self.addresses(second['id'])))

    def test_server_is_released_if_the_backend_fails_after_managing_it(self):
        self.there()
        self.fault('manage_server:fail_final_after')
        server = self.managed('manage_error')
        self.assertEqual([], self.addresses(server['id']))
        self.assertFalse(self.store.servers.get(server['id']).ours)
        self.service.knob('alpha', '')
        self.assertEqual('identifier_in_use', self.ask(400)['reason'])
        self.unmanage(server['id'])
        self.ends(server['id'], 'gone')
        self.managed()

    def test_unmanage_that_fails_at_the_backend_can_be_repeated(self):
        self.there()
        server = self.managed()
        self.fault('unmanage_server:fail_final')
        self.unmanage(server['id'])
        self.ends(server['id'], 'unmanage_error')
        self.assertIn('could not be unmanaged', self.told(server['id']))
        self.assertEqual([self.address], self.addresses(server['id']))
        self.unmanage(server['id'], force='true')
        self.ends(server['id'], 'gone')
        self.assertEqual([], self.addresses(server['id']))

    def test_server_of_a_driver_without_support_becomes_manage_error(self):
        server = self.managed('manage_error', host='test@beta')
        self.assertIn('can neither manage', self.told(server['id']))
        self.unmanage(server['id'])
        self.ends(server['id'], 'unmanage_error')
        self.unmanage(server['id'], force=True)
        self.ends(server['id'], 'gone')

    def test_invalid_requests_are_refused(self):
        other = self.admin.ok(
            'POST',
            '/share-networks',
            {
                'share_network': {
                    'neutron_net_id': 'blue',
                    'neutron_subnet_id': 'blue-v4',
                    'availability_zone': 'there',
                }
            },
        )['share_network']
        [away] = other['share_network_subnets']
        nothing = '00000000-0000-4000-8000-000000000000'
        for change, word in (
            ({'host': 'test@gamma'}, 'test@gamma'),
            ({'host': 'test@alpha#pool1'}, 'pool'),
            ({'host': ''}, 'host'),
            ({'identifier': ''}, 'identifier'),
            ({'identifier': None}, 'identifier'),
            ({'share_network_id': nothing}, nothing),
            ({'share_network_id': other['id']}, 'has 0 subnets'),
            ({'share_network_subnet_id': nothing}, nothing),
            ({'share_network_id': other['id'], 'share_network_subnet_id': away['id']}, 'zone of test@alpha'),
            ({'driver_options': 'x'}, 'driver_options'),
            ({'driver_options': {'a': []}}, 'driver_options'),
        ):
            self.assertIn(word, self.ask(400, **change)['message'], change)
        self.assertEqual(422, self.admin.call('POST', '/share-servers/manage', {})[0])
        self.admin.ok(
            'POST', f'/share-networks/{self.network_id}/action', {'reset_status': {'status': 'error'}}
        )
        self.assertIn('not active', self.ask(400)['message'])
        self.assertEqual([], self.servers(self.network_id))

    def test_zone_with_several_subnets_is_refused(self):
        path = f'/share-networks/{self.network_id}/subnets'
        [first] = self.admin.ok('GET', path)['share_network_subnets']
        self.admin.ok(
            'POST', path, {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}}
        )
        for more in ({}, {'share_network_subnet_id': first['id']}):
            self.assertEqual('not_one_subnet', self.ask(400, **more)['reason'])

    def test_server_is_managed_in_the_named_subnet(self):
        self.there()
        [subnet] = self.admin.ok('GET', f'/share-networks/{self.network_id}/subnets')['share_network_subnets']
        server = self.managed(share_network_subnet_id=subnet['id'])
        self.assertEqual([subnet['id']], server['share_network_subnet_ids'])

    def test_managing_is_refused_to_members_and_below_2_49(self):
        self.there()
        user = self.caller('p', roles='member,reader')
        self.ask(403, caller=user)
        self.ask(404, version='2.48')
        server = self.managed(version='2.50', share_network_subnet_id='ignored: it came with 2.51')
        path = f'/share-servers/{server["id"]}/action'
        self.assertEqual(403, user.call('POST', path, {'unmanage': {}})[0])
        self.assertEqual(404, self.admin.call('POST', path, {'unmanage': {}}, version='2.48')[0])
        self.assertEqual(400, self.admin.call('POST', path, {'unmanage': {'force': 'perhaps'}})[0])
        nothing = '00000000-0000-4000-8000-000000000000'
        self.assertEqual(
            404, self.admin.call('POST', f'/share-servers/{nothing}/action', {'unmanage': {}})[0]
        )

    def test_unmanage_is_refused_while_the_server_is_busy(self):
        self.there()
        server = self.managed()
        for status in ('creating', 'network_change', 'deleting', 'manage_starting'):
            self.admin.ok(
                'POST', f'/share-servers/{server["id"]}/action', {'reset_status': {'status': status}}
            )
            self.unmanage(server['id'], 400)
        self.admin.ok('POST', f'/share-servers/{server["id"]}/action', {'reset_status': {'status': 'active'}})
