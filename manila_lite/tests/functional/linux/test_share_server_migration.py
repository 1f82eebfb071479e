# SPDX-License-Identifier: Apache-2.0
"""A share server moves from one linux backend to another while a client writes, through the API."""

import hashlib
import re

from manila_lite.tests.functional.linux import announcements, api_base, moving_writer, server_base

FILES = 1000
FOUR, SIX = (server_base.address(subnet, 5) for subnet in ('four', 'six'))
_CONFIG = """[DEFAULT]
enabled_share_backends = alpha, beta
state_path = {state}/lib
[standalone_network]
file = {state}/networks.yaml
"""
_BACKEND = """[NAME]
driver = linux
driver_handles_share_servers = true
linux_pool_path = {state}/NAME.img
linux_pool_size_gb = 4
linux_fabric_netns = {fabric}
linux_graceless = true
linux_peers = test@OTHER:{state}/lite.conf
server_migration_driver_continue_update_interval = 0.2
"""


class MigrationTest(api_base.ApiTest):
    """Two backends of one machine, ``alpha`` and ``beta``, in one fabric."""

    CONFIG = _CONFIG + ''.join(
        _BACKEND.replace('NAME', name).replace('OTHER', other)
        for name, other in (('alpha', 'beta'), ('beta', 'alpha'))
    )
    POOLS = ('alpha.img', 'beta.img')

    def setUp(self):
        super().setUp()
        self.until(
            lambda: len(self.lite.ok('GET', '/scheduler-stats/pools')['pools']) == 2, 'both pools are known'
        )
        self.shared = self.network()
        self.shares, self.server = [], ''
        for _ in range(2):
            share, self.server = self.share(self.shared, scheduler_hints={'only_host': 'test@alpha#pool'})
            self.shares.append(share)
        self.home, self.other = 'alpha', 'beta'

    # State ------------------------------------------------------------------------------------

    def host(self, share):
        """Return the backend of the share."""
        return self.lite.ok('GET', f'/shares/{share}')['share']['host'].partition('@')[2].partition('#')[0]

    def pool(self, backend):
        """Return the mount point of the backend's pool."""
        return self.machine.state / 'lib' / backend / 'pool'

    def place(self, backend, share):
        """Return the directory of a share's data at a backend, whether or not it exists."""
        (instance,) = self.lite.ok('GET', f'/shares/{share}/instances')['share_instances']
        return self.pool(backend) / 'shares' / instance['id']

    def files(self, folder):
        """Return a hash of the content of each file, by name."""
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}

    def fill(self):
        """Fill each share: half of its files are in a snapshot, and some of these change later. Return the snapshots."""
        snapshots = []
        for share in self.shares:
            folder = self.place(self.home, share)
            for number in range(FILES // 2):
                (folder / f'old{number}').write_text(f'{share} {number} ' * 100)
            snapshot = self.lite.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
            self.lite.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
            snapshots.append(snapshot)
            for number in range(FILES // 2):
                (folder / f'new{number}').write_text(f'{share} {number} ' * 100)
            (folder / 'old0').write_text('another')
            (folder / 'old1').rename(folder / 'moved')
        return snapshots

    # Actions ----------------------------------------------------------------------------------

    def act(self, action, body=None):
        """Send a migration action; return the document."""
        return self.lite.ok('POST', f'/share-servers/{self.server}/action', {action: body})

    def start(self, **more):
        """Start the migration."""
        self.act(
            'migration_start',
            {
                'host': f'test@{self.other}',
                'writable': True,
                'nondisruptive': False,
                'preserve_snapshots': True,
                **more,
            },
        )

    def task_is(self, *states):
        """Wait until the migration has one of these states; return the state."""

        def found():
            seen = self.lite.ok('GET', f'/share-servers/{self.server}')['share_server']['task_state']
            self.assertTrue(seen in states or 'error' not in seen, self.lite.tail())
            return seen if seen in states else None

        return self.until(found, f'the migration is {states}')

    def cut_over(self):
        """Complete the migration; return the id of the destination share server."""
        target = self.act('migration_complete')['destination_share_server_id']
        self.machine.spaces.append(f'manila-{target}')
        for share in self.shares:
            self.lite.wait(f'/shares/{share}', 'share', 'available')
        self.lite.wait(f'/share-servers/{self.server}', 'share_server', 'gone')
        return target

    def left(self, backend):
        """Return everything in the pool of a backend."""
        return sorted(
            str(place.relative_to(self.pool(backend)))
            for folder in ('shares', 'snapshots', 'moving')
            for place in (self.pool(backend) / folder).glob('*')
        )

    # Tests ------------------------------------------------------------------------------------

    def test_files_rules_and_writes_survive_a_server_migration(self):
        snapshots = self.fill()
        self.clients('four', 'six')
        self.grant(self.shares[0], server_base.address('four', 101))
        self.grant(self.shares[1], server_base.address('six', 101), 'ro')
        before = {share: self.files(self.place(self.home, share)) for share in self.shares}
        taken = {
            snapshot: self.files(self.pool(self.home) / 'snapshots' / snapshot) for snapshot in snapshots
        }
        paths = {share: self.locations(share) for share in self.shares}
        directories = [paths[share][0][0].partition(':')[2] for share in self.shares]
        writer = moving_writer.Writer(FOUR, directories[0], self.machine.space('friend-four'))
        self.addCleanup(writer.end)
        writer.goes_on()
        ears = [
            announcements.Ears(self.machine.space(f'stranger-{subnet}'), version)
            for subnet, version in (('four', 4), ('six', 6))
        ]
        self.start()
        self.task_is('migration_driver_phase1_done')
        writer.goes_on()
        for ear, address in zip(ears, (FOUR, SIX), strict=True):
            self.assertNotIn(address, {told for told, _ in ear.heard()})
        self.cut_over()
        writer.goes_on()
        for ear, address in zip(ears, (FOUR, SIX), strict=True):
            self.assertIn(address, {told for told, _ in ear.heard()})
            ear.close()
        writer.end()
        (away,) = re.findall(r'the shares were not served for ([\d.]+) s', self.lite.log.read_text())
        print(
            f'{len(writer.acknowledged)} files acknowledged; the cut-over took {away} s, the client had to wait '
            f'{writer.gap:.2f} s, and was told {writer.refusals}'
        )
        for name in writer.acknowledged:
            before[self.shares[0]][name] = hashlib.sha256(name.encode()).hexdigest()
        for share in self.shares:
            self.assertEqual((self.other, paths[share]), (self.host(share), self.locations(share)))
            found = self.files(self.place(self.other, share))
            self.assertEqual(
                {}, {name: seen for name, seen in before[share].items() if found.get(name) != seen}
            )
        for snapshot, seen in taken.items():
            self.assertEqual(seen, self.files(self.pool(self.other) / 'snapshots' / snapshot))
        self.refused('NOENT', 'stranger-four', FOUR, directories[0], 'list')
        self.refused('ROFS', 'friend-six', SIX, directories[1], 'write', 'g', 'no')
        self.assertEqual('another', self.works('friend-six', SIX, directories[1], 'read', 'old0'))
        self.assertEqual([], self.left(self.home))

    def test_cancelled_migration_leaves_nothing_at_the_destination(self):
        """Check that a cancelled migration leaves nothing behind, and the share readable."""
        self.fill()
        self.clients('four')
        self.grant(self.shares[0], server_base.address('four', 101))
        directory = self.locations(self.shares[0])[0][0].partition(':')[2]
        before = self.left(self.home)
        self.start()
        self.task_is('migration_driver_phase1_done')
        self.assertEqual(1, len([name for name in self.left(self.other) if name.startswith('moving/')]))
        told = self.act('migration_get_progress')
        self.assertEqual(100, told['total_progress'])
        self.act('migration_cancel')
        self.task_is('migration_cancelled')
        self.assertEqual((before, []), (self.left(self.home), self.left(self.other)))
        self.assertEqual('another', self.works('friend-four', FOUR, directory, 'read', 'old0'))
