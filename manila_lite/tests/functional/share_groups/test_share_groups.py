# SPDX-License-Identifier: Apache-2.0
"""Share groups: their shares are placed together, snapshotted together, and restored together."""

import time

from oslo_utils import uuidutils

from manila_lite.db.queries import operations, quotas, services, share_groups, shares
from manila_lite.doctor import examine
from manila_lite.tests.functional import base
from manila_lite.tests.services import hearing

#: The first backend snapshots groups at one moment, the second reports that it cannot, the third makes share servers.
_APART = 'dummy_capabilities = sg_consistent_snapshot_support:,apart:yes\n'
_SERVERS = 'driver_handles_share_servers = true\n'
_NETWORKS = """
networks:
- id: net
  network_type: vlan
  segmentation_id: 100
  subnets:
  - {id: four, cidr: 10.1.0.0/20, gateway: 10.1.0.1}
"""


class GroupTest(base.ServiceTest):
    """Helpers for share groups."""

    BACKENDS = {'alpha': 'dummy_pools = one,two\n', 'beta': _APART, 'gamma': _SERVERS}
    EXTRA = 'default_share_group_type = plain\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.user = base.Api(cls.service.app, 'alice', 'first', 'member,reader')
        cls.default = cls.admin.ok('GET', '/types/default')['share_type']['id']
        cls.served = cls.make_type('served', 'True')
        cls.make_group_type('plain', ['default'], consistent_snapshot_support='host')
        cls.loose = cls.make_group_type('loose', ['default'])
        cls.together = cls.make_group_type('together', ['served'])

    def setUp(self):
        super().setUp()
        for name in self.BACKENDS:
            self.addCleanup(self.service.knob, name, '')

    @classmethod
    def make_type(cls, name, servers='False', **more):
        return cls.admin.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': name,
                    'extra_specs': {
                        'driver_handles_share_servers': servers,
                        'snapshot_support': 'True',
                        'create_share_from_snapshot_support': 'True',
                        **more,
                    },
                }
            },
        )['share_type']['id']

    @classmethod
    def make_group_type(cls, name, kinds, **specs):
        return cls.admin.ok(
            'POST',
            '/share-group-types',
            {'share_group_type': {'name': name, 'share_types': kinds, 'group_specs': specs}},
        )['share_group_type']['id']

    def group(self, wait='available', **values):
        """Make a group; return it as administrators see it."""
        made = self.user.ok('POST', '/share-groups', {'share_group': values})['share_group']
        self.assertEqual('creating', made['status'])
        self.user.wait(self.path(made), 'share_group', wait)
        return self.admin.ok('GET', self.path(made))['share_group']

    def network(self, **more):
        """Make a share network; return it."""
        self.service.use_networks(_NETWORKS)
        self.addCleanup(self.service.conf.clear_override, 'file', 'standalone_network')
        return self.user.ok(
            'POST',
            '/share-networks',
            {'share_network': {'neutron_net_id': 'net', 'neutron_subnet_id': 'four', **more}},
        )['share_network']

    @staticmethod
    def path(group):
        return f'/share-groups/{group["id"]}'

    def share(self, group, **more):
        return self.user.share(share_group_id=group['id'], **more)

    def snapshot(self, group, wait='available', **values):
        made = self.user.ok(
            'POST',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': group['id'], **values}},
        )['share_group_snapshot']
        return self.user.wait(f'/share-group-snapshots/{made["id"]}', 'share_group_snapshot', wait)

    def host(self, share):
        return self.admin.ok('GET', f'/shares/{share["id"]}')['share']['host']

    def instance(self, share):
        with self.service.services.db.reader() as conn:
            return shares.get(conn, self.service.context(roles=('admin',)), share['id']).instance_id

    def usage(self, name):
        with self.service.services.db.reader() as conn:
            return quotas.usages(conn, 'first')[name].in_use

    def refused(self, status, method, path, body=None, caller=None, says=None, **more):
        found, document, _ = (caller or self.user).call(method, path, body, **more)
        self.assertEqual(status, found, document)
        (fault,) = document.values()
        self.assertIn(says or '', fault['message'])

    def remove(self, *found, group=None):
        for share in found:
            self.user.ok('DELETE', f'/shares/{share["id"]}?share_group_id={group["id"]}')
        for share in found:
            self.user.wait(f'/shares/{share["id"]}', 'share', 'gone')


class Groups(GroupTest):
    def test_shares_of_a_group_are_on_one_backend_and_block_its_deletion(self):
        used = self.usage('share_groups')
        group = self.group(name='papers', description='all of them')
        self.assertEqual(used + 1, self.usage('share_groups'))
        self.assertEqual('host', group['consistent_snapshot_support'])
        self.assertTrue(group['host'].startswith('test@alpha#'))
        self.assertEqual([self.default], group['share_types'])
        self.assertEqual('nova', group['availability_zone'])
        seen = self.user.ok('GET', self.path(group))['share_group']
        self.assertIsNone(seen['host'])
        self.assertNotIn('share_server_id', seen)
        one, two = self.share(group), self.share(group, size=2)
        self.assertEqual(group['id'], one['share_group_id'])
        self.assertEqual({'test@alpha'}, {self.host(share).partition('#')[0] for share in (one, two)})
        listed = self.user.ok('GET', f'/shares?share_group_id={group["id"]}')['shares']
        self.assertEqual({one['id'], two['id']}, {share['id'] for share in listed})
        self.refused(409, 'DELETE', self.path(group), says='has 2 shares')
        self.remove(one, two, group=group)
        self.user.ok('DELETE', self.path(group))
        self.assertEqual(used, self.usage('share_groups'))

    def test_invalid_requests_for_shares_of_a_group_are_refused(self):
        group = self.group()
        share = self.share(group)
        path = f'/shares/{share["id"]}'
        self.refused(400, 'DELETE', path, says=group['id'])
        self.refused(400, 'DELETE', f'{path}?share_group_id={uuidutils.generate_uuid()}', says=group['id'])
        self.refused(403, 'POST', f'{path}/action', {'soft_delete': None}, says='member of share group')
        self.refused(
            409,
            'POST',
            f'{path}/action',
            {
                'migration_start': {
                    'host': 'test@beta#pool1',
                    'writable': False,
                    'nondisruptive': False,
                    'preserve_snapshots': False,
                    'preserve_metadata': False,
                }
            },
            caller=self.admin,
            says='would split the group',
        )
        self.refused(
            400,
            'POST',
            '/share-transfers',
            {'transfer': {'share_id': share['id']}},
            says='member of share group',
        )
        # The network and the zone exist, so the group is the only reason to refuse.
        network = self.network()['id']
        with self.service.services.db.writer() as conn:
            services.zone_id(conn, 'elsewhere', create=True)
        own = f'as for all shares of share group {group["id"]}'
        for body, says in (
            ({'share_type': 'served'}, 'does not accept shares of type served'),
            ({'availability_zone': 'elsewhere'}, f'availability_zone: must be nova, {own}'),
            ({'share_network_id': network}, f'share_network_id: must be null, {own}'),
        ):
            self.refused(
                400,
                'POST',
                '/shares',
                {'share': {'size': 1, 'share_proto': 'NFS', 'share_group_id': group['id'], **body}},
                says=says,
            )
        self.refused(
            404,
            'POST',
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'share_group_id': group['id']}},
            caller=self.caller('second', 'bob'),
        )
        self.remove(share, group=group)

    def test_invalid_groups_are_refused(self):
        unknown = uuidutils.generate_uuid()
        for status, body, says in (
            (404, {'share_group_type_id': unknown}, unknown),
            (400, {'share_types': [unknown]}, 'share_types'),
            (400, {'share_types': [self.served]}, 'has no share type'),
            (400, {'share_network_id': unknown}, 'share_network_id'),
            (
                400,
                {'share_group_type_id': self.together, 'share_types': [self.served]},
                'share_network_id: missing',
            ),
            (
                400,
                {
                    'share_group_type_id': self.together,
                    'share_types': [self.served],
                    'share_network_id': unknown,
                },
                'share_network_id: Share network',
            ),
            (
                400,
                {'source_share_group_snapshot_id': unknown},
                'source_share_group_snapshot_id: Share group snapshot',
            ),
            (404, {'availability_zone': 'nowhere'}, 'nowhere'),
        ):
            self.refused(status, 'POST', '/share-groups', {'share_group': body}, says=says)
        self.refused(422, 'POST', '/share-groups', {})
        self.refused(403, 'GET', '/share-groups?host=test@alpha')
        self.admin.ok('PUT', '/quota-sets/first', {'quota_set': {'share_groups': 0, 'force': True}})
        self.addCleanup(self.admin.ok, 'DELETE', '/quota-sets/first')
        self.refused(413, 'POST', '/share-groups', {'share_group': {}}, says='share_groups')

    def test_group_is_refused_in_a_zone_without_one_of_its_share_types(self):
        away = self.make_type('away', availability_zones='elsewhere')
        kind = self.make_group_type('mixed', ['default', 'away'])
        body = {'share_group_type_id': kind, 'share_types': [self.default, away], 'availability_zone': 'nova'}
        self.refused(
            400,
            'POST',
            '/share-groups',
            {'share_group': body},
            says='availability_zone: share type away is not offered in nova',
        )

    def test_group_without_a_host_accepts_no_shares_or_snapshots(self):
        kind = self.make_group_type('unplaced', ['default'], consistent_snapshot_support='moon')
        group = self.group(wait='error', share_group_type_id=kind)
        self.admin.ok('POST', f'{self.path(group)}/action', {'reset_status': {'status': 'available'}})
        self.refused(
            400,
            'POST',
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'share_group_id': group['id']}},
            says='share_group_id: share group',
        )
        self.refused(
            409,
            'POST',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': group['id']}},
            says='has no host',
        )
        self.user.ok('DELETE', self.path(group))

    def test_group_without_a_suitable_pool_is_in_error_and_can_be_deleted(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        kind = self.make_group_type('unheard', ['default'], consistent_snapshot_support='moon')
        group = self.group(wait='error', share_group_type_id=kind)
        heard.wait('share_group.create.error', share_group_id=group['id'])
        told = self.user.ok('GET', f'/messages?resource_id={group["id"]}')['messages']
        self.assertEqual(['SHARE_GROUP'], [message['resource_type'] for message in told])
        self.assertIn('sg_consistent_snapshot_support', told[0]['user_message'])
        self.refused(
            400,
            'POST',
            '/shares',
            {'share': {'size': 1, 'share_proto': 'NFS', 'share_group_id': group['id']}},
            says='is error',
        )
        self.admin.ok('POST', f'{self.path(group)}/action', {'reset_status': {'status': 'creating'}})
        self.refused(409, 'DELETE', self.path(group))
        self.admin.ok('POST', f'{self.path(group)}/action', {'force_delete': None})
        self.user.wait(self.path(group), 'share_group', 'gone')

    def test_doctor_sets_groups_and_snapshots_without_operation_to_error(self):
        group = self.group()
        snapshot = self.user.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group['id']}}
        )['share_group_snapshot']
        self.user.wait(f'/share-group-snapshots/{snapshot["id"]}', 'share_group_snapshot', 'available')
        for path in (f'/share-group-snapshots/{snapshot["id"]}', self.path(group)):
            self.admin.ok('POST', f'{path}/action', {'reset_status': {'status': 'creating'}})
        found = {finding.id: finding for finding in examine.list_findings(self.service.services)}
        for resource_id in (group['id'], snapshot['id']):
            self.assertTrue(found[resource_id].wrong)
            self.assertEqual(
                'is in error, and can be deleted', examine.mend(self.service.services, found[resource_id])
            )
            self.assertIsNone(examine.mend(self.service.services, found[resource_id]))
        self.assertEqual('error', self.user.ok('GET', self.path(group))['share_group']['status'])

    def test_lists_are_filtered_sorted_and_paged(self):
        names = [f'{mark}-listed' for mark in 'abc']
        made = [self.group(name=name, description=f'about {name}') for name in names]
        here = '/share-groups/detail?name~=listed&sort_key=name&sort_dir=asc'
        found = self.user.ok('GET', here)['share_groups']
        self.assertEqual(names, [group['name'] for group in found])
        page = self.user.ok('GET', f'{here}&limit=2')
        self.assertEqual(names[:2], [group['name'] for group in page['share_groups']])
        self.assertIn('share_groups_links', page)
        self.assertEqual(
            names[2:],
            [
                group['name']
                for group in self.user.ok('GET', f'{here}&marker={made[1]["id"]}')['share_groups']
            ],
        )
        short = self.user.ok('GET', f'/share-groups?name={names[0]}')['share_groups']
        self.assertEqual([{'id', 'name', 'links'}], [set(group) for group in short])
        for query in (
            f'share_group_type_id={self.loose}',
            'status=error&name~=listed',
            f'share_network_id={self.loose}',
        ):
            self.assertEqual([], self.user.ok('GET', f'/share-groups?{query}')['share_groups'])
        everybody = self.admin.ok('GET', '/share-groups?all_tenants=1&name~=listed&project_id=first')[
            'share_groups'
        ]
        self.assertEqual(3, len(everybody))
        self.assertEqual([], self.admin.ok('GET', '/share-groups?name~=listed')['share_groups'])
        renamed = self.user.ok('PUT', self.path(made[0]), {'share_group': {'name': 'new'}})['share_group']
        self.assertEqual('new', renamed['name'])


class Snapshots(GroupTest):
    def put(self, backend, share, text):
        self.service.managers[backend].driver.write(self.instance(share), text)

    def get(self, backend, share):
        return self.service.managers[backend].driver.read(self.instance(share))

    def test_group_is_created_from_a_consistent_group_snapshot(self):
        used = self.usage('share_group_snapshots')
        group = self.group()
        pair = [self.share(group, name=name, size=size) for name, size in (('one', 1), ('two', 2))]
        for share in pair:
            self.put('alpha', share, f'as {share["name"]} was')
        driver = self.service.managers['alpha'].driver
        before = len(driver.store.calls('create_group_snapshot')), len(driver.store.calls('create_snapshot'))
        snapshot = self.snapshot(group, name='then')
        self.assertEqual(
            (before[0] + 1, before[1]),
            (len(driver.store.calls('create_group_snapshot')), len(driver.store.calls('create_snapshot'))),
        )
        self.assertEqual(used + 1, self.usage('share_group_snapshots'))
        path = f'/share-group-snapshots/{snapshot["id"]}'
        members = self.user.ok('GET', f'{path}/members')['share_group_snapshot_members']
        self.assertEqual(members, snapshot['members'])
        self.assertEqual(
            [(share['id'], share['size']) for share in pair],
            sorted(((member['share_id'], member['size']) for member in members), key=lambda found: found[1]),
        )
        self.assertEqual([], self.user.ok('GET', f'/snapshots?share_id={pair[0]["id"]}')['snapshots'])
        for share in pair:
            self.put('alpha', share, 'later')
        other = self.group(name='again', source_share_group_snapshot_id=snapshot['id'])
        self.assertEqual(
            (group['host'], snapshot['id']), (other['host'], other['source_share_group_snapshot_id'])
        )
        found = self.user.ok('GET', f'/shares/detail?share_group_id={other["id"]}')['shares']
        self.assertEqual(
            {member['id'] for member in members},
            {share['source_share_group_snapshot_member_id'] for share in found},
        )
        self.assertEqual({'as one was', 'as two was'}, {self.get('alpha', share) for share in found})
        self.refused(
            403,
            'DELETE',
            f'/shares/{pair[0]["id"]}?share_group_id={group["id"]}',
            says='1 share group snapshot;',
        )
        self.refused(409, 'DELETE', self.path(group))
        self.user.ok('DELETE', path)
        kept = {record.id for record in driver.store.snapshots.all()}
        self.assertEqual(set(), kept & {member['id'] for member in members})
        self.remove(*pair, group=group)
        self.remove(*found, group=other)
        for one in (group, other):
            self.user.ok('DELETE', self.path(one))

    def test_inconsistent_group_snapshot_is_taken_share_by_share(self):
        self.refused_by_alpha()
        group = self.group(share_group_type_id=self.loose)
        self.assertIsNone(group['consistent_snapshot_support'])
        self.assertTrue(group['host'].startswith('test@beta#'))
        for _ in range(2):
            self.share(group)
        driver = self.service.managers['beta'].driver
        snapshot = self.snapshot(group)
        self.assertEqual([], driver.store.calls('create_group_snapshot'))
        kept = {record.id for record in driver.store.snapshots.all()}
        self.assertLessEqual({member['id'] for member in snapshot['members']}, kept)

    def test_group_that_needs_its_pool_consistent_is_placed_on_a_backend_that_is_consistent(self):
        kind = self.make_group_type('pooled', ['default'], consistent_snapshot_support='pool')
        group = self.group(share_group_type_id=kind)
        self.assertTrue(group['host'].startswith('test@alpha#'))
        self.assertEqual('host', group['consistent_snapshot_support'])

    def test_each_spelling_of_consistent_snapshot_support_is_understood(self):
        apart = self.make_type('apart', apart='yes')
        for said in ('host', 'pool', 'moon', 'true', '<is> True', '<is> yes', '<IS> 1', '<is> no'):
            kind = self.make_group_type(said, ['apart'], consistent_snapshot_support=said)
            self.group(
                'available' if said == '<is> no' else 'error', share_group_type_id=kind, share_types=[apart]
            )

    def refused_by_alpha(self):
        self.admin.ok('PUT', '/services/disable', {'host': 'test@alpha', 'binary': 'manila-share'})
        self.addCleanup(
            self.admin.ok, 'PUT', '/services/enable', {'host': 'test@alpha', 'binary': 'manila-share'}
        )
        with self.service.services.db.reader() as conn:
            # The scheduler's pools may be a second old, unless it reads them anew.
            self.service.scheduler.hosts.pools(conn, time.monotonic())

    def test_changes_of_shares_are_refused_while_the_snapshot_is_taken(self):
        group = self.group()
        share = self.share(group)
        self.service.knob('alpha', 'create_group_snapshot:hang')
        made = self.user.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group['id']}}
        )['share_group_snapshot']
        action = f'/shares/{share["id"]}/action'
        self.refused(400, 'POST', action, {'extend': {'new_size': 2}}, says='Share group snapshot')
        self.refused(
            400, 'POST', '/snapshots', {'snapshot': {'share_id': share['id']}}, says='Share group snapshot'
        )
        self.refused(
            409, 'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group['id']}}
        )
        self.refused(
            409, 'POST', '/share-groups', {'share_group': {'source_share_group_snapshot_id': made['id']}}
        )
        self.refused(409, 'DELETE', f'/share-group-snapshots/{made["id"]}')
        self.service.knob('alpha', '')
        self.user.wait(f'/share-group-snapshots/{made["id"]}', 'share_group_snapshot', 'available')
        self.user.ok('POST', action, {'extend': {'new_size': 2}})
        self.user.wait(f'/shares/{share["id"]}', 'share', 'available')

    def test_group_snapshot_waits_for_a_running_share_snapshot(self):
        group = self.group()
        share = self.share(group)
        self.service.knob('alpha', 'create_snapshot:hang')
        plain = self.user.ok('POST', '/snapshots', {'snapshot': {'share_id': share['id']}})['snapshot']
        driver = self.service.managers['alpha'].driver
        before = len(driver.store.calls('create_group_snapshot'))
        base.eventually(lambda: driver.store.calls('create_snapshot'), 'the driver was not asked')
        made = self.user.ok(
            'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group['id']}}
        )['share_group_snapshot']
        base.eventually(lambda: self.tried(made['id']), 'nobody looked')
        self.assertEqual(before, len(driver.store.calls('create_group_snapshot')))
        self.service.knob('alpha', '')
        self.user.wait(f'/share-group-snapshots/{made["id"]}', 'share_group_snapshot', 'available')
        self.user.wait(f'/snapshots/{plain["id"]}', 'snapshot', 'available')

    def test_notifications_are_sent_for_creation_and_deletion(self):
        group, heard = self.group(), self.useFixture(hearing.Heard(self.service.conf))
        self.share(group)
        snapshot_id = self.snapshot(group)['id']
        self.user.ok('DELETE', f'/share-group-snapshots/{snapshot_id}')
        for event, publisher in (
            ('create.start', 'api.test'),
            ('create.end', 'share.test@alpha'),
            ('delete.start', 'api.test'),
            ('delete.end', 'share.test@alpha'),
        ):
            told = heard.wait(f'share_group_snapshot.{event}', share_group_snapshot_id=snapshot_id)
            self.assertEqual(publisher, told['publisher'])

    def tried(self, resource_id):
        with self.service.services.db.reader() as conn:
            (found,) = operations.list_of_resource(conn, resource_id, 'share_group_snapshot.create')
            return found.next_run_at > found.created_at

    def test_failed_group_snapshot_leaves_no_snapshots_at_the_backend(self):
        group = self.group()
        share = self.share(group)
        self.service.knob('alpha', 'create_group_snapshot:fail_final')
        snapshot = self.snapshot(group, wait='error')
        told = self.user.ok('GET', f'/messages?resource_id={snapshot["id"]}')['messages']
        self.assertEqual(['SHARE_GROUP_SNAPSHOT'], [message['resource_type'] for message in told])
        ours = {member['id'] for member in snapshot['members']}
        store = self.service.managers['alpha'].driver.store
        self.assertEqual(set(), ours & {record.id for record in store.snapshots.all()})
        path = f'/share-group-snapshots/{snapshot["id"]}'
        self.admin.ok('POST', f'{path}/action', {'reset_status': {'status': 'available'}})
        renamed = self.user.ok('PUT', path, {'share_group_snapshot': {'name': 'b'}})['share_group_snapshot']
        self.assertEqual('b', renamed['name'])
        self.assertEqual(
            [snapshot['id']],
            [
                found['id']
                for found in self.user.ok(
                    'GET', f'/share-group-snapshots/detail?share_group_id={group["id"]}&name=b'
                )['share_group_snapshots']
            ],
        )
        self.admin.ok('POST', f'{path}/action', {'force_delete': None})
        self.user.wait(path, 'share_group_snapshot', 'gone')
        self.remove(share, group=group)

    def test_failed_share_is_named_in_the_error_of_its_group(self):
        group = self.group()
        self.share(group)
        snapshot = self.snapshot(group)
        self.service.knob('alpha', 'create_share_from_snapshot:fail_final')
        heard = self.useFixture(hearing.Heard(self.service.conf))
        other = self.group(wait='error', source_share_group_snapshot_id=snapshot['id'])
        failed = heard.wait('share_group.create.error', share_group_id=other['id'])
        self.assertIn('could not be created', failed['payload']['error'])
        (share,) = self.user.ok('GET', f'/shares/detail?share_group_id={other["id"]}')['shares']
        self.assertEqual('error', share['status'])
        told = self.user.ok('GET', f'/messages?resource_id={other["id"]}')['messages']
        self.assertIn(share['id'], told[0]['user_message'])


class OnServers(GroupTest):
    def served_by(self, network):
        """Return the body of a request for a group in the network."""
        return {
            'share_group_type_id': self.together,
            'share_types': [self.served],
            'share_network_id': network['id'],
        }

    def test_group_in_a_zone_without_a_subnet_is_refused(self):
        network = self.network()
        with self.service.services.db.writer() as conn:
            services.zone_id(conn, 'far', create=True)
        (subnet,) = network['share_network_subnets']
        path = f'/share-networks/{network["id"]}/subnets'
        self.user.ok(
            'POST',
            path,
            {
                'share-network-subnet': {
                    'neutron_net_id': 'net',
                    'neutron_subnet_id': 'four',
                    'availability_zone': 'far',
                }
            },
        )
        self.user.ok('DELETE', f'{path}/{subnet["id"]}')
        self.refused(
            400,
            'POST',
            '/share-groups',
            {'share_group': {**self.served_by(network), 'availability_zone': 'nova'}},
            says='has no subnet in availability zone nova',
        )
        (far,) = self.user.ok('GET', path)['share_network_subnets']
        self.user.ok('DELETE', f'{path}/{far["id"]}')
        self.refused(
            400, 'POST', '/share-groups', {'share_group': self.served_by(network)}, says='has no subnet.'
        )

    def test_group_without_a_server_accepts_no_shares_or_snapshots(self):
        group = self.group(**self.served_by(self.network()))
        with (
            self.service.services.db.writer() as conn
        ):  # as if an administrator reset the group before it had one
            share_groups.update(conn, group['id'], share_server_id=None)
        self.refused(
            400,
            'POST',
            '/shares',
            {
                'share': {
                    'size': 1,
                    'share_proto': 'NFS',
                    'share_type': 'served',
                    'share_group_id': group['id'],
                }
            },
            says='has no host',
        )
        self.refused(
            409,
            'POST',
            '/share-group-snapshots',
            {'share_group_snapshot': {'share_group_id': group['id']}},
            says='has no host',
        )

    def test_the_shares_of_a_group_are_on_one_server(self):
        network = self.network()['id']
        group = self.group(
            share_group_type_id=self.together, share_types=[self.served], share_network_id=network
        )
        self.assertIsNotNone(group['share_server_id'])
        self.refused(409, 'DELETE', f'/share-networks/{network}', says='1 share group.')
        self.refused(409, 'DELETE', f'/share-servers/{group["share_server_id"]}', caller=self.admin)
        pair = [self.share(group, share_type='served') for _ in range(2)]
        self.assertEqual({network}, {share['share_network_id'] for share in pair})
        servers = {
            self.admin.ok('GET', f'/shares/{share["id"]}')['share']['share_server_id'] for share in pair
        }
        self.assertEqual({group['share_server_id']}, servers)
        snapshot = self.snapshot(group)
        self.assertEqual(2, len(snapshot['members']))
