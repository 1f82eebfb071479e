# SPDX-License-Identifier: Apache-2.0
"""A driver with few abilities: a request that needs another ability is refused, and the message names the ability."""

from manila_lite.drivers import interface
from manila_lite.tests.functional import base, served

_REPLICATES = 'dummy_replication_domain = far\nbackend_availability_zone = {}\n'
_MOVE = {'writable': False, 'nondisruptive': False, 'preserve_snapshots': True}


def able(dummy, *abilities):
    """Return a driver that makes and serves shares, and has only these further abilities. The dummy driver does the work."""

    def handed_on(name):
        return lambda self, *args: getattr(dummy, name)(*args)

    bases = (interface.ShareDriver, *abilities)
    cls = type('Able', bases, {name: handed_on(name) for one in bases for name in one.__abstractmethods__})
    driver = cls(dummy.backend)
    driver.HANDLES_SHARE_SERVERS = dummy.HANDLES_SHARE_SERVERS
    return driver


class Cannot:
    """Mixin for tests with an ``admin`` and a service."""

    def can_only(self, backend, *abilities):
        """Give the backend's driver only these abilities, until the test ends. Its pools still report all capabilities."""
        manager = self.service.managers[backend]
        self.patch(manager, 'driver', able(manager.driver, *abilities))

    def told(self, resource_id):
        return [
            row['user_message']
            for row in self.admin.ok('GET', f'/messages?resource_id={resource_id}')['messages']
        ]

    def refused(self, words, path, body):
        status, document, _ = self.admin.call('POST', path, body)
        self.assertEqual(409, status, document)
        self.assertIn(words, document['conflictingRequest']['message'])


class Shares(Cannot, base.ServiceTest):
    """The driver of ``beta`` has no further abilities; that of ``alpha`` has all."""

    BACKENDS = {name: _REPLICATES.format(name) for name in ('alpha', 'beta')}
    NEITHER = 'The backend can neither manage nor unmanage {}.'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'dr',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'replication_type': 'dr'},
                }
            },
        )

    def test_share_migration_to_the_backend_fails_with_a_message(self):
        share = self.admin.share(availability_zone='alpha')['id']
        self.can_only('beta')
        self.assertEqual(
            202,
            self.admin.action(
                share, 'migration_start', {**_MOVE, 'preserve_metadata': True, 'host': 'test@beta'}
            )[0],
        )
        self.admin.wait(f'/shares/{share}', 'share', 'migration_error', field='task_state')
        self.assertIn(
            'The driver of the backend does not support the migration of single shares to it.',
            self.told(share)[0],
        )

    def test_replica_creation_fails_with_a_message(self):
        share = self.admin.share(share_type='dr', availability_zone='alpha')['id']
        self.can_only('beta')
        replica = self.admin.ok(
            'POST', '/share-replicas', {'share_replica': {'share_id': share, 'availability_zone': 'beta'}}
        )['share_replica']['id']
        self.admin.wait(f'/share-replicas/{replica}', 'share_replica', 'error')
        self.assertIn('can have no replicas.', str(self.told(replica)))

    def test_managing_and_unmanaging_a_share_fail_with_a_message(self):
        self.can_only('beta')
        share = self.admin.ok(
            'POST',
            '/shares/manage',
            {'share': {'service_host': 'test@beta#pool1', 'protocol': 'nfs', 'export_path': '10.0.0.1:/nas'}},
        )['share']['id']
        self.admin.wait(f'/shares/{share}', 'share', 'manage_error')
        [told] = self.told(share)
        self.assertIn(self.NEITHER.format('shares'), told)
        self.assertEqual(202, self.admin.action(share, 'unmanage')[0])
        self.admin.wait(f'/shares/{share}', 'share', 'unmanage_error')
        self.assertIn(self.NEITHER.format('shares'), self.told(share)[0])

    def test_managing_and_unmanaging_a_snapshot_fail_with_a_message(self):
        share = self.admin.share(availability_zone='beta')['id']
        made = self.admin.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        self.admin.wait(f'/snapshots/{made}', 'snapshot', 'available')
        self.can_only('beta')
        found = self.admin.ok(
            'POST', '/snapshots/manage', {'snapshot': {'share_id': share, 'provider_location': '/theirs'}}
        )['snapshot']['id']
        self.admin.ok('POST', f'/snapshots/{made}/action', {'unmanage': None})
        for snapshot_id, status in ((found, 'manage_error'), (made, 'unmanage_error')):
            self.admin.wait(f'/snapshots/{snapshot_id}', 'snapshot', status)
            [told] = self.told(snapshot_id)
            self.assertIn(self.NEITHER.format('snapshots'), told)


class Servers(Cannot, served.ServedTest):
    """A driver that makes share servers, and cannot change them afterwards."""

    BACKENDS = dict.fromkeys(('alpha', 'beta'), 'driver_handles_share_servers = true\n')
    EXTRA = 'driver_updatable_subnet_metadata = quality\n'

    def setUp(self):
        super().setUp()
        self.user = self.admin
        self.net = self.network()
        share = self.share(self.net, scheduler_hints={'only_host': 'test@alpha#pool1'})
        self.assertIn('@alpha', share['host'])
        [server] = self.servers(self.net)
        self.server = server.id

    def test_server_migration_to_the_backend_is_refused(self):
        self.can_only('beta', interface.MakesServers)
        self.refused(
            'The driver of the backend does not support the migration of share servers to it.',
            f'/share-servers/{self.server}/action',
            {'migration_start': {**_MOVE, 'host': 'test@beta'}},
        )

    def test_adding_a_subnet_is_refused_with_a_message(self):
        self.can_only('alpha', interface.MakesServers)
        self.refused(
            'cannot be given the subnet',
            f'/share-networks/{self.net}/subnets',
            {'share-network-subnet': {'neutron_net_id': 'blue', 'neutron_subnet_id': 'blue-v6'}},
        )
        [told] = self.told(self.net)
        self.assertIn(
            'The backend of the share servers cannot add another subnet to its share servers.', told
        )

    def test_adding_a_security_service_is_refused_with_a_message(self):
        self.can_only('alpha', interface.MakesServers)
        service = self.admin.ok('POST', '/security-services', {'security_service': {'type': 'ldap'}})[
            'security_service'
        ]['id']
        self.refused(
            'cannot be updated with the security service',
            f'/share-networks/{self.net}/action',
            {'add_security_service': {'security_service_id': service}},
        )
        [told] = self.told(self.net)
        self.assertIn(
            'The backend of the share servers cannot update its share servers with another security service.',
            told,
        )

    def test_unused_subnet_metadata_is_reported_in_a_message(self):
        self.can_only('alpha', interface.MakesServers)
        [subnet] = self.shown(self.net)['share_network_subnets']
        self.admin.ok(
            'POST',
            f'/share-networks/{self.net}/subnets/{subnet["id"]}/metadata',
            {'metadata': {'quality': 'good'}},
        )
        base.eventually(lambda: self.told(subnet['id']), 'nobody is told')
        self.assertIn(
            'The backend of the share servers does not use the metadata of subnets.',
            self.told(subnet['id'])[0],
        )
