# SPDX-License-Identifier: Apache-2.0
"""Common clients, unchanged: the openstack command and openstacksdk, without Keystone."""

import bcrypt
import openstack
import testtools

from manila_lite.tests import process, waiting
from manila_lite.tests.factories import networks
from manila_lite.tests.functional import commandline

_BASIC = """
[api]
http_basic_auth_user_file = {file}
http_basic_accounts = demo:p:admin+member+reader,reader:p:reader
[alpha]
driver = dummy
"""


class Clients(commandline.Calls, testtools.TestCase):
    """One service under noauth for all tests; the HTTP basic test has its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lite = process.Lite()
        cls.lite.setUp()
        cls.addClassCleanup(cls.lite.cleanUp)
        file = cls.lite.state / 'networks.yaml'
        file.write_text(networks.FILE)
        with cls.lite.config.open('a') as config:
            config.write(f'[standalone_network]\nfile = {file}\n')
        cls.lite.start()
        cls.url = f'http://127.0.0.1:{cls.lite.port}'
        waiting.until(
            lambda: cls.lite.ok('GET', '/scheduler-stats/pools')['pools'], cls.lite.tail, pause=0.05
        )

    def test_command_line_manages_shares_rules_and_snapshots(self):
        kind = self.cli(
            'share',
            'type',
            'create',
            'default',
            'False',
            '--snapshot-support',
            'True',
            '--create-share-from-snapshot-support',
            'True',
            '--revert-to-snapshot-support',
            'True',
        )
        self.assertEqual('default', kind['name'])
        self.assertIn('default', [row['Name'] for row in self.cli('share', 'type', 'list')])
        share = self.cli('share', 'create', 'NFS', '1', '--name', 'one', '--property', 'a=b', '--wait')
        self.assertEqual(('available', 'one'), (share['status'], share['name']))
        self.assertEqual(['one'], [row['Name'] for row in self.cli('share', 'list')])
        self.assertEqual(share['id'], self.cli('share', 'show', 'one')['id'])
        self.assertEqual(2, len(self.cli('share', 'export', 'location', 'list', 'one')))
        rule = self.cli(
            'share', 'access', 'create', 'one', 'ip', '10.0.0.0/24', '--access-level', 'ro', '--wait'
        )
        self.assertEqual('active', rule['state'])
        self.assertEqual(
            ['10.0.0.0/24'], [row['Access To'] for row in self.cli('share', 'access', 'list', 'one')]
        )
        self.run_cli('share', 'resize', 'one', '2', '--wait')
        self.assertEqual(2, self.cli('share', 'show', 'one')['size'])
        snapshot = self.cli('share', 'snapshot', 'create', 'one', '--name', 's', '--wait')
        self.assertEqual('available', snapshot['status'])
        self.assertEqual(['s'], [row['Name'] for row in self.cli('share', 'snapshot', 'list')])
        self.run_cli('share', 'revert', 's', '--wait')
        clone = self.cli(
            'share', 'create', 'NFS', '2', '--name', 'two', '--snapshot-id', snapshot['id'], '--wait'
        )
        self.assertEqual('available', clone['status'])
        self.run_cli('share', 'resize', 'one', '1', '--wait')
        self.run_cli('share', 'access', 'delete', 'one', rule['id'])
        self.run_cli('share', 'snapshot', 'delete', 's', '--wait')
        self.run_cli('share', 'delete', 'two', 'one', '--wait')
        self.assertEqual([], self.cli('share', 'list'))
        self.assertIn('No share with a name or ID', self.run_cli('share', 'show', '12345', fails=True))

    def test_command_line_shows_pools_and_services_and_sets_quotas(self):
        self.assertEqual(['test@alpha#pool1'], [row['Name'] for row in self.cli('share', 'pool', 'list')])
        self.assertEqual(
            {'manila-share', 'manila-scheduler'},
            {row['Binary'] for row in self.cli('share', 'service', 'list')},
        )
        self.assertEqual(['nova'], [row['Name'] for row in self.cli('share', 'availability', 'zone', 'list')])
        self.run_cli('share', 'quota', 'set', 'someone', '--shares', '7')
        self.assertEqual(7, self.cli('share', 'quota', 'show', 'someone')['shares'])
        self.run_cli('share', 'quota', 'delete', 'someone')
        self.assertEqual(50, self.cli('share', 'quota', 'show', 'someone')['shares'])
        self.cli('share', 'limits', 'show', '--absolute')
        self.assertEqual([], self.cli('share', 'message', 'list'))

    def test_command_line_manages_networks_and_security_services(self):
        network = self.cli('share', 'network', 'create', '--name', 'net', '--description', 'd')
        self.assertEqual(
            ('net', 'active', True),
            (network['name'], network['status'], network['network_allocation_update_support']),
        )
        self.assertEqual(
            [network['id']], [row['ID'] for row in self.cli('share', 'network', 'list', '--name~', 'NE')]
        )
        subnet = self.cli(
            'share', 'network', 'subnet', 'create', 'net', '--availability-zone', 'nova', '--property', 'a=b'
        )
        self.assertEqual(('nova', {'a': 'b'}), (subnet['availability_zone'], subnet['metadata']))
        self.run_cli('share', 'network', 'subnet', 'set', 'net', subnet['id'], '--property', 'c=d')
        self.run_cli('share', 'network', 'subnet', 'unset', 'net', subnet['id'], '--property', 'a')
        self.assertEqual(
            {'c': 'd'}, self.cli('share', 'network', 'subnet', 'show', 'net', subnet['id'])['properties']
        )
        service = self.cli(
            'share', 'security', 'service', 'create', 'ldap', '--name', 'people', '--dns-ip', '10.0.0.2'
        )
        self.assertEqual(('ldap', 'new', '10.0.0.2'), (service['type'], service['status'], service['dns_ip']))
        self.run_cli(
            'share', 'security', 'service', 'set', 'people', '--domain', 'example.org', '--user', 'joe'
        )
        self.run_cli('share', 'security', 'service', 'unset', 'people', '--user')
        shown = self.cli('share', 'security', 'service', 'show', 'people')
        self.assertEqual(('example.org', None), (shown['domain'], shown['user']))
        self.run_cli(
            'share', 'network', 'set', 'net', '--description', 'e', '--new-security-service', 'people'
        )
        shown = self.cli('share', 'network', 'show', 'net')
        self.assertEqual(
            ('e', 2, [service['id']]),
            (
                shown['description'],
                len(shown['share_network_subnets']),
                [row['security_service_id'] for row in shown['security_services']],
            ),
        )
        (listed,) = self.cli('share', 'security', 'service', 'list', '--share-network', 'net', '--detail')
        self.assertIn(network['id'], listed['Share Networks'])
        self.assertIn('403', self.run_cli('share', 'security', 'service', 'delete', 'people', fails=True))
        self.run_cli('share', 'security', 'service', 'create', 'ldap', '--name', 'others')
        place = (
            'share',
            'network',
            'set',
            'net',
            '--current-security-service',
            'people',
            '--new-security-service',
            'others',
        )
        self.run_cli(*place, '--check-only')
        self.run_cli(*place, '--check-only', '--restart-check')
        self.run_cli(*place)
        self.assertEqual(
            ['others'],
            [
                row['security_service_name']
                for row in self.cli('share', 'network', 'show', 'net')['security_services']
            ],
        )
        self.run_cli('share', 'network', 'unset', 'net', '--security-service', 'others')
        self.run_cli('share', 'security', 'service', 'delete', 'others')
        self.run_cli('share', 'security', 'service', 'delete', 'people')
        self.assertEqual([], self.cli('share', 'server', 'list', '--share-network', 'net'))
        self.run_cli('share', 'network', 'subnet', 'delete', 'net', subnet['id'])
        self.run_cli('share', 'network', 'delete', 'net', '--wait')
        self.assertEqual([], self.cli('share', 'network', 'list'))

    def connect(self, **more):
        auth = {
            'auth_type': 'none',
            'shared_file_system_endpoint_override': f'{self.url}/v2',
            'shared_file_system_default_microversion': '2.82',
            **more,
        }
        return openstack.connect(load_yaml_config=False, load_envvars=False, **auth).shared_file_system

    def test_sdk_manages_shares_rules_and_snapshots(self):
        for end in ('/v2', '/v2/'):
            self.assertEqual(
                [],
                list(
                    self.connect(shared_file_system_endpoint_override=f'{self.url}{end}').shares(
                        name='no such share'
                    )
                ),
            )
        proxy = self.connect()
        self.lite.call(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'sdk',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'snapshot_support': 'True'},
                }
            },
        )
        share = proxy.create_share(name='sdk', size=1, share_protocol='NFS', share_type='sdk')
        share = proxy.wait_for_status(share, status='available', interval=0.2, wait=waiting.LIMIT)
        self.assertEqual(1, share.size)
        self.assertEqual(2, len(list(proxy.export_locations(share.id))))
        rule = proxy.create_access_rule(share.id, access_type='ip', access_to='10.0.0.9', access_level='rw')
        self.assertTrue(rule.id)
        self.assertEqual(['10.0.0.9'], [row.access_to for row in proxy.access_rules(share.id)])
        proxy.resize_share(share.id, 2)
        self.lite.wait(f'/shares/{share.id}', 'share', 'available')
        self.assertEqual(2, proxy.get_share(share.id).size)
        snapshot = proxy.create_share_snapshot(share_id=share.id, name='snap')
        self.lite.wait(f'/snapshots/{snapshot.id}', 'snapshot', 'available')
        self.assertIn('nova', [zone.name for zone in proxy.availability_zones()])
        self.assertTrue(list(proxy.limits()))
        self.assertTrue(list(proxy.storage_pools()))
        proxy.delete_share_snapshot(snapshot.id)
        self.lite.wait(f'/snapshots/{snapshot.id}', 'snapshot', 'gone')
        proxy.delete_share(share.id)
        self.lite.wait(f'/shares/{share.id}', 'share', 'gone')

    def test_clients_can_ensure_shares(self):
        host = self.idle_backend()
        self.run_cli('share', 'service', 'ensure', 'shares', host)
        self.idle_backend()
        self.connect(shared_file_system_default_microversion='2.86').ensure_shares_service(host)
        self.idle_backend()
        found = self.lite.ok('GET', f'/operations?kind=service.ensure&host={host}&all_projects=1')[
            'operations'
        ]
        self.assertEqual(
            ['done'] * 3, [one['state'] for one in found]
        )  # one is from the start of the service
        self.assertIn(
            '404', self.run_cli('share', 'service', 'ensure', 'shares', 'nowhere@alpha', fails=True)
        )
        self.assertEqual(
            [host], [row['Host'] for row in self.cli('share', 'service', 'list', '--host', host)]
        )

    def idle_backend(self):
        """Wait until the backend's shares are not being ensured; return the backend's host."""

        def idle():
            [row] = self.lite.ok('GET', '/services?binary=manila-share', version='2.93')['services']
            return not row['ensuring'] and row['host']

        return waiting.until(idle, 'nothing is ensured any more', pause=0.05)

    def test_sdk_manages_share_networks_and_subnets(self):
        proxy = self.connect()
        network = proxy.create_share_network(name='sdk', neutron_net_id='blue', neutron_subnet_id='blue-v4')
        self.assertEqual('10.10.0.0/24', network.share_network_subnets[0]['cidr'])
        subnet = proxy.create_share_network_subnet(
            network.id, neutron_net_id='blue', neutron_subnet_id='blue-v6'
        )
        self.assertEqual(('fd10::/64', 6, 100), (subnet.cidr, subnet.ip_version, subnet.segmentation_id))
        self.assertEqual(2, len(list(proxy.share_network_subnets(network.id))))
        self.assertEqual([network.id], [row.id for row in proxy.share_networks(name='sdk')])
        self.assertEqual('other', proxy.update_share_network(network.id, name='other').name)
        proxy.delete_share_network_subnet(network.id, subnet.id)
        proxy.delete_share_network(network.id)
        self.assertEqual([], list(proxy.share_networks(name='other')))

    def test_sdk_lists_shares_without_a_microversion(self):
        proxy = self.connect(shared_file_system_default_microversion=None)
        self.assertEqual([], list(proxy.shares(name='no such share')))

    def test_http_basic_accepts_right_and_refuses_wrong_passwords(self):
        lite = process.Lite()
        state = self.useFixture(lite).state
        file = state / 'htpasswd'
        secret = bcrypt.hashpw(b'secret', bcrypt.gensalt(4)).decode()
        file.write_text(f'demo:{secret}\nreader:{secret}\n')
        text = lite.config.read_text().replace('[alpha]\ndriver = dummy\n', _BASIC.format(file=file))
        lite.config.write_text(text.replace('auth_strategy = noauth', 'auth_strategy = http_basic'))
        lite.start()
        url = f'http://127.0.0.1:{lite.port}'
        env = {key: value for key, value in self.env().items() if not key.startswith('OS_')} | {
            'OS_AUTH_TYPE': 'http_basic',
            'OS_USERNAME': 'demo',
            'OS_PASSWORD': 'secret',
            'OS_ENDPOINT': f'{url}/identity',
            'OS_SHARED_FILE_SYSTEM_ENDPOINT_OVERRIDE': f'{url}/v2',
        }
        self.assertEqual([], self.cli('share', 'list', env=env))
        self.assertIn('401', self.run_cli('share', 'list', env=env | {'OS_PASSWORD': 'wrong'}, fails=True))
        self.assertIn(
            '403',
            self.run_cli(
                'share', 'type', 'create', 'x', 'False', fails=True, env=env | {'OS_USERNAME': 'reader'}
            ),
        )
