# SPDX-License-Identifier: Apache-2.0
"""A share server moves into another share network of its linux backend, through the API, while clients write."""

import subprocess

from manila_lite.tests import nfs_client
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.linux import api_base, base, moving_writer, server_base

FOUR, MORE = (server_base.address(subnet, 5) for subnet in ('four', 'more'))
_CONFIG = (
    api_base.CONFIG + 'server_migration_driver_continue_update_interval = 0.2\n[operations]\nlease = 15\n'
)


class NetworkMovesTest(api_base.ApiTest):
    """One backend, with a share server in one network, and clients there and in another network."""

    CONFIG = _CONFIG

    def setUp(self):
        super().setUp()
        (kind,) = self.lite.ok('GET', '/types')['share_types']
        self.lite.ok(
            'POST',
            f'/types/{kind["id"]}/extra_specs',
            {'extra_specs': {'revert_to_snapshot_support': 'True'}},
        )
        self.old, self.new = self.lone('net-four', 'four'), self.lone('a-flat-one', 'more')
        self.shares, self.server = [], ''
        for _ in range(2):
            share, self.server = self.share(self.old)
            self.shares.append(share)
        self.directories = [self.locations(share)[0][0].partition(':')[2] for share in self.shares]
        self.clients('four')
        for share in self.shares:
            self.grant(share, server_base.address('four', 101))
            self.grant(share, server_base.address('more', 101))
        self.works('friend-four', FOUR, self.directories[0], 'write', 'f', 'first')
        self.snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': self.shares[0]}})[
            'snapshot'
        ]['id']
        self.lite.wait(f'/snapshots/{self.snapshot}', 'snapshot', 'available')
        self.works('friend-four', FOUR, self.directories[0], 'write', 'f', 'later')

    def lone(self, net, subnet):
        """Return a share network with one subnet."""
        return self.lite.ok(
            'POST',
            '/share-networks',
            {'share_network': {'name': subnet, 'neutron_net_id': net, 'neutron_subnet_id': subnet}},
        )['share_network']['id']

    # Actions ----------------------------------------------------------------------------------

    def ask(self, action, body=None):
        """Send a migration action; return the status and the document."""
        return self.lite.call('POST', f'/share-servers/{self.server}/action', {action: body})

    def wanted(self, **more):
        return {
            'host': 'test@alpha',
            'writable': True,
            'nondisruptive': False,
            'preserve_snapshots': True,
            'new_share_network_id': self.new,
            **more,
        }

    def prepare(self):
        """Run phase one."""
        status, document = self.ask('migration_start', self.wanted())
        self.assertEqual(202, status, document)
        self.task_is('migration_driver_phase1_done')
        self.target = self.ask('migration_get_progress')[1]['destination_share_server_id']
        self.machine.spaces.append(f'manila-{self.target}')

    def task_is(self, state):
        self.lite.wait(f'/share-servers/{self.server}', 'share_server', state, field='task_state')

    def complete(self):
        status, document = self.ask('migration_complete')
        self.assertEqual((200, self.target), (status, document.get('destination_share_server_id')), document)

    def moved(self):
        """Wait until the server has moved, and its source is gone. Bring clients into the new network."""
        for share in self.shares:
            self.lite.wait(f'/shares/{share}', 'share', 'available')
        self.lite.wait(f'/share-servers/{self.server}', 'share_server', 'gone')
        self.clients('more')

    def restart(self):
        """Kill the share manager and all other parts of the service, and start them again."""
        self.lite.kill()
        self.lite.start()

    def homes(self):
        """Return the ids of all servers that have a folder at the backend."""
        return {folder.name for folder in (self.machine.state / 'lib' / 'alpha' / 'servers').iterdir()}

    # Results ----------------------------------------------------------------------------------

    def assert_serves_only_there(self):
        """Check that the new network has all data, behind its rules, and the old one nothing."""
        for share, directory in zip(self.shares, self.directories, strict=True):
            self.assertEqual([(f'{MORE}:{directory}', True)], self.locations(share))
            self.works('friend-more', MORE, directory, 'list')
            self.refused('NOENT', 'stranger-more', MORE, directory, 'list')
        self.assertEqual('later', self.works('friend-more', MORE, self.directories[0], 'read', 'f'))
        self.assert_unserved()
        self.assertEqual([MORE], self.addresses())
        self.assertNotIn(f'manila-{self.server}', base.command('ip', 'netns').split())
        self.assertEqual({self.target}, self.homes())
        self.assertFalse(any(self.server in trace for trace in self.machine.traces()))

    def assert_unserved(self):
        """Check that the old network has no share. Where nobody answers, a client tries for half a minute."""
        try:
            worked, said = nfs_client.call(
                FOUR,
                self.directories[0],
                'list',
                seconds=8,  # limit: nobody may answer
                netns=self.machine.space('friend-four'),
            )
        except subprocess.TimeoutExpired:
            return
        self.assertFalse(worked, said)

    def assert_reverts(self, client, address):
        """Check that the snapshot has the former content of its share."""
        self.lite.ok('POST', f'/shares/{self.shares[0]}/action', {'revert': {'snapshot_id': self.snapshot}})
        self.lite.wait(f'/shares/{self.shares[0]}', 'share', 'available')
        self.assertEqual('first', self.works(client, address, self.directories[0], 'read', 'f'))

    def assert_serves_as_before(self, target_is_gone=True):
        """Check that the old network has all data, behind its rules, and nothing is left of the target."""
        for directory in self.directories:
            self.works('friend-four', FOUR, directory, 'list')
            self.refused('NOENT', 'stranger-four', FOUR, directory, 'list')
        self.assertEqual('later', self.works('friend-four', FOUR, self.directories[0], 'read', 'f'))
        if target_is_gone:
            self.assertEqual([FOUR], self.addresses())
            self.assertEqual({self.server}, self.homes())
            self.assertNotIn(f'manila-{self.target}', base.command('ip', 'netns').split())
            self.lite.ok('DELETE', f'/share-networks/{self.new}')

    # Tests ------------------------------------------------------------------------------------

    def test_acknowledged_writes_and_snapshots_are_in_the_new_network(self):
        answer = self.ask('migration_check', self.wanted())[1]
        self.assertEqual((True, None), (answer['compatible'], answer['reason']))
        self.assertEqual(
            [True, False, True, True, True],
            [
                answer['supported_capabilities'][name]
                for name in (
                    'writable',
                    'nondisruptive',
                    'preserve_snapshots',
                    'migration_cancel',
                    'migration_get_progress',
                )
            ],
        )
        self.assertEqual(409, self.ask('migration_check', self.wanted(new_share_network_id=self.old))[0])
        writer = moving_writer.Writer(FOUR, self.directories[1], self.machine.space('friend-four'))
        self.addCleanup(writer.end)
        writer.goes_on()
        self.prepare()
        self.assertEqual(100, self.ask('migration_get_progress')[1]['total_progress'])
        writer.goes_on()
        self.complete()
        self.moved()
        writer.end()
        self.assert_serves_only_there()
        found = self.works('friend-more', MORE, self.directories[1], 'list').split()
        self.assertEqual(set(), set(writer.acknowledged) - set(found))
        for name in writer.acknowledged[-20:]:
            self.assertEqual(name, self.works('friend-more', MORE, self.directories[1], 'read', name))
        print(f'{len(writer.acknowledged)} files acknowledged')
        self.restart()
        self.until(
            lambda: self.nfs('friend-more', MORE, self.directories[0], 'list')[0], 'it serves after a restart'
        )
        self.assert_serves_only_there()
        self.assert_reverts('friend-more', MORE)
        self.lite.ok('DELETE', f'/snapshots/{self.snapshot}')
        self.lite.ok('DELETE', f'/share-networks/{self.old}')

    def test_cancelled_move_leaves_everything_as_it_was(self):
        self.prepare()
        self.restart()
        self.assert_serves_as_before(target_is_gone=False)
        self.assertEqual(202, self.ask('migration_cancel')[0])
        self.task_is('migration_cancelled')
        self.lite.wait(f'/share-servers/{self.target}', 'share_server', 'gone')
        self.assert_serves_as_before()
        self.assert_reverts('friend-four', FOUR)

    def test_kill_in_the_cut_over_loses_nothing(self):
        """Each kill is at another moment of the cut-over, from the request on."""
        writer = moving_writer.Writer(FOUR, self.directories[1], self.machine.space('friend-four'))
        self.addCleanup(writer.end)
        writer.goes_on()
        self.prepare()
        self.complete()
        for there in (
            (self.home(self.server) / 'halted.json').exists,
            lambda: list((self.home(self.target) / 'exports.d').glob('*')),
        ):
            self.until(there, 'the cut-over has come so far')
            self.restart()
        self.moved()
        writer.end()
        self.assert_serves_only_there()
        found = self.works('friend-more', MORE, self.directories[1], 'list').split()
        self.assertEqual(set(), set(writer.acknowledged) - set(found))
        self.assert_reverts('friend-more', MORE)

    def home(self, server):
        return self.machine.state / 'lib' / 'alpha' / 'servers' / server

    def test_cancel_by_force_while_the_backend_is_down_deletes_no_data(self):
        self.prepare()
        self.lite.kill()
        status, _, said = manage.run(
            self.machine.state / 'lite.conf', 'manage', 'migration', 'cancel', '--force', self.server
        )
        self.assertEqual(0, status, said)
        self.assert_serves_as_before(target_is_gone=False)
        self.lite.start()
        self.lite.wait(f'/share-servers/{self.target}', 'share_server', 'gone')
        self.assert_serves_as_before()
        self.assert_reverts('friend-four', FOUR)

    def test_failed_cut_over_is_repeated(self):
        """A cut-over fails because the target cannot mount the second share. Everything is kept meanwhile."""
        self.prepare()
        block = self.home(self.target) / 'exports' / self.instance(self.shares[1])
        block.parent.mkdir(parents=True, exist_ok=True)
        block.write_text('no directory')
        self.complete()
        self.lite.wait(f'/share-servers/{self.server}', 'share_server', 'error')
        self.restart()
        self.assertEqual(403, self.lite.call('DELETE', f'/shares/{self.shares[1]}')[0])
        for server in (self.server, self.target):
            self.assertEqual(409, self.lite.call('DELETE', f'/share-servers/{server}')[0])
        self.assert_unserved()  # the source stays halted
        block.unlink()
        self.complete()
        self.moved()
        self.assert_serves_only_there()
        self.assert_reverts('friend-more', MORE)

    def instance(self, share):
        (found,) = self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']
        return found['id']
