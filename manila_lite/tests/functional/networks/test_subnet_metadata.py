# SPDX-License-Identifier: Apache-2.0
"""Metadata of subnets in use: the keys for drivers are pushed to the drivers of their share servers."""

from manila_lite.tests.functional import base, served

_METHOD = 'update_share_network_subnet_from_metadata'


class Pushed(served.ServedTest):
    """A service with two metadata keys that are for drivers."""

    EXTRA = 'driver_updatable_subnet_metadata = quality,colour\n'

    def setUp(self):
        super().setUp()
        self.net = self.network()
        self.shares = [self.share(self.net)['id'] for _ in range(2)]
        [subnet] = self.shown(self.net)['share_network_subnets']
        self.subnet = subnet['id']
        self.path = f'/share-networks/{self.net}/subnets/{self.subnet}/metadata'

    def act_by(self):
        """Return the subnet's metadata as each server has it at the backend."""
        return [self.record(server.id).metadata.get(self.subnet, {}) for server in self.servers(self.net)]

    def eventually(self, **wanted):
        base.eventually(lambda: self.act_by() == [wanted] * 2, 'the servers act by something else')

    def count(self):
        return sum(self.calls(_METHOD).count(server.id) for server in self.servers(self.net))

    def test_each_way_to_change_metadata_reaches_the_servers(self):
        self.user.ok('POST', self.path, {'metadata': {'quality': 'good', 'other': 'x'}})
        self.eventually(quality='good')
        self.user.ok('POST', f'{self.path}/colour', {'metadata': {'colour': 'red'}})
        self.eventually(quality='good', colour='red')
        self.user.ok('PUT', self.path, {'metadata': {'colour': 'blue'}})
        self.eventually(colour='blue')
        self.user.ok('DELETE', f'{self.path}/colour')
        self.eventually()
        self.assertEqual({'active'}, {server.status for server in self.servers(self.net)})

    def test_unchanged_metadata_and_keys_not_for_drivers_are_not_pushed(self):
        self.user.ok('PUT', self.path, {'metadata': {'other': 'x'}})
        self.user.ok('DELETE', f'{self.path}/other')
        self.user.ok('PUT', self.path, {'metadata': {'quality': 'good'}}, version='2.88')
        self.user.ok('PUT', self.path, {'metadata': {'quality': 'good'}})  # unchanged
        self.user.ok('POST', self.path, {'metadata': {'colour': 'red'}})
        self.eventually(quality='good', colour='red')
        self.assertEqual(2, self.count())

    def test_changes_during_a_push_are_pushed_together(self):
        """Push the last of several values, without a call for each."""
        self.fault(f'{_METHOD}:hang')
        self.user.ok('POST', self.path, {'metadata': {'quality': '0'}})
        base.eventually(lambda: self.count() == 2, 'no call')
        for number in range(1, 6):
            self.user.ok('POST', self.path, {'metadata': {'quality': str(number)}})
        self.service.knob('alpha', '')
        self.eventually(quality='5')
        self.assertLessEqual(self.count(), 2 + 2 * 2)

    def test_failed_push_sends_messages_and_servers_stay_active(self):
        self.fault(f'{_METHOD}:fail_final')
        self.user.ok('POST', self.path, {'metadata': {'quality': 'bad'}})
        base.eventually(lambda: len(self.messages(self.subnet)) == 2, 'no message')
        for told in self.messages(self.subnet):
            self.assertEqual(('SHARE_NETWORK_SUBNET', '030'), (told['resource_type'], told['detail_id']))
        self.assertEqual({'quality': 'bad'}, self.user.ok('GET', self.path)['metadata'])
        self.assertEqual({'active'}, {server.status for server in self.servers(self.net)})
        self.assertEqual('active', self.shown(self.net)['status'])
        self.service.knob('alpha', '')
        self.user.ok('POST', self.path, {'metadata': {'quality': 'good'}})
        self.eventually(quality='good')

    def test_push_to_a_deleted_server_sends_no_message(self):
        """Send no message if a server is deleted before the metadata is pushed to it."""
        self.fault(f'{_METHOD}:hang')
        first, _ = self.servers(self.net)
        self.user.ok('POST', self.path, {'metadata': {'quality': 'good'}})
        base.eventually(lambda: self.count() == 2, 'no call')
        self.user.ok('POST', self.path, {'metadata': {'quality': 'better'}})
        for share in self.shares:
            self.user.ok('DELETE', f'/shares/{share}')
        for share in self.shares:
            self.user.wait(f'/shares/{share}', 'share', 'gone')
        self.admin.ok('DELETE', f'/share-servers/{first.id}', wait=False)
        self.service.knob('alpha', '')
        base.eventually(
            lambda: first.id not in {server.id for server in self.servers(self.net)}, 'the server stays'
        )
        base.eventually(
            lambda: (
                [self.record(server.id).metadata for server in self.servers(self.net)]
                == [{self.subnet: {'quality': 'better'}}]
            ),
            'the other does not act by it',
        )
        self.assertEqual([], self.messages(self.subnet))
