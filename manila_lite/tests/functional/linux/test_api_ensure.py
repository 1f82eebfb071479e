# SPDX-License-Identifier: Apache-2.0
"""Shares are broken under a running service, ensured through the API, and read again over NFS.

Backends with and without share servers.
"""

import contextlib
import json
import os
import signal
import sqlite3

from manila_lite.drivers.file_servers import ganesha, ganesha_dbus
from manila_lite.host import mounts
from manila_lite.tests import nfs_client
from manila_lite.tests.functional.linux import api_base, base, server_base

FOUR, SIX = (server_base.address(subnet, 5) for subnet in ('four', 'six'))
_BETA = """[beta]
driver = linux
linux_pool_path = {{state}}/beta.img
linux_pool_size_gb = 4
linux_graceless = true
linux_netns = {nas}
linux_export_ips = {address}
"""


class ApiEnsure(api_base.ApiTest):
    """``alpha`` makes share servers, ``beta`` has one NFS server; each has a share with a file."""

    POOLS = ('pool.img', 'beta.img')

    def setUp(self):
        self.plain = base.Fabric(nas=1, one=11)
        if not base.missing():
            self.addCleanup(self.plain.down)
            self.plain.up()
        more = _BETA.format(nas=self.plain.name('nas'), address=self.plain.v4('nas'))
        self.CONFIG = (
            self.CONFIG.replace('[DEFAULT]\n', '[DEFAULT]\nenabled_share_backends = alpha, beta\n') + more
        )
        super().setUp()
        self.lite.ok(
            'POST',
            '/types',
            {
                'share_type': {
                    'name': 'plain',
                    'extra_specs': {'driver_handles_share_servers': 'False', 'snapshot_support': 'True'},
                }
            },
        )
        self.until(
            lambda: len(self.lite.ok('GET', '/scheduler-stats/pools')['pools']) == 2, 'both pools are known'
        )
        self._shares()

    def _shares(self):
        self.served, self.server = self.share(self.network())
        self.clients('four', 'six')
        self.grant(self.served, server_base.address('four', 101))
        self.grant(self.served, server_base.address('six', 101), 'ro')
        self.directory = self.locations(self.served)[0][0].partition(':')[2]
        self.works('friend-four', FOUR, self.directory, 'write', 'f', 'hello')
        self.alone = self.lite.ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS', 'share_type': 'plain'}}
        )['share']['id']
        self.lite.wait(f'/shares/{self.alone}', 'share', 'available')
        self.grant(self.alone, self.plain.v4('one'))
        self.assertTrue(self.read_alone('write', 'f', 'hello')[0])

    def read_alone(self, *words):
        """Run an NFS command as the client of the backend without share servers; return (success, output)."""
        path = self.locations(self.alone)[0][0].partition(':')[2]
        return nfs_client.call(self.plain.v4('nas'), path, *words, netns=self.plain.name('one'))

    def all_read(self):
        """Check that every client reads its file, and that strangers do not."""
        self.assertEqual('hello', self.works('friend-four', FOUR, self.directory, 'read', 'f'))
        self.assertEqual('hello', self.works('friend-six', SIX, self.directory, 'read', 'f'))
        self.works('friend-four', FOUR, self.directory, 'write', 'g', 'mine')
        self.refused('NOENT', 'stranger-four', FOUR, self.directory, 'list')
        self.assertEqual((True, 'hello'), self.read_alone('read', 'f'))

    # Ensuring and breaking --------------------------------------------------------------------

    def ensure(self, backend):
        """Ensure the backend's shares through the API. Return the reported repairs by share."""
        self.until(
            lambda: (
                self.lite.call('POST', '/services/ensure', {'host': f'test@{backend}'}, version='2.86')[0]
                == 202
            ),
            'it is taken',
        )
        self.until(lambda: self._last(backend)[0] != 'open', 'the run has ended')
        state, data = self._last(backend)
        self.assertEqual('done', state, f'{data} {self.lite.tail()}')
        return {share: ' '.join(words) for share, words in data['repairs'].items()}

    def _last(self, backend):
        with contextlib.closing(sqlite3.connect(self.machine.state / 'lib' / 'manila_lite.sqlite')) as db:
            state, data = db.execute(
                "SELECT state, data FROM operations WHERE kind = 'service.ensure' AND host = ? "
                'ORDER BY created_at DESC',
                (f'test@{backend}',),
            ).fetchone()
        return state, json.loads(data)

    def home(self, backend, *parts):
        """Return a path in the state directory of a backend."""
        return (self.machine.state / 'lib').joinpath(backend, *parts)

    def kill_server(self, home):
        """Kill NFS-Ganesha and wait for its end."""
        pid = json.loads((home / 'ganesha.json').read_text())['pid']
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: not os.path.exists(f'/proc/{pid}/fd/0'), 'it has ended')

    def told(self, said, *words):
        """Check that each of these words was reported."""
        for word in words:
            self.assertIn(word, said)

    # Tests ------------------------------------------------------------------------------------

    def test_damage_is_repaired_and_reported(self):
        name = self.directory.rpartition('/')[2]
        home, space = self.home('alpha', 'servers', self.server), f'manila-{self.server}'
        self._daemon_address_rules_limit(home, space, name)
        self._namespace_mount_file(home, space, name)
        for backend in ('alpha', 'beta'):
            self.assertEqual({}, self.ensure(backend))
        self._gone()
        self._another_address()

    def _daemon_address_rules_limit(self, home, space, name):
        self.kill_server(home)
        port = next(
            link['ifname']
            for link in json.loads(base.command('ip', '-n', space, '-json', 'address'))
            if any(entry.get('local') == SIX for entry in link['addr_info'])
        )
        base.ip('-n', space, 'address', 'delete', f'{SIX}/64', 'dev', port)
        file = home / 'exports.d' / f'{name}.conf'
        file.write_text(file.read_text().replace('RW', 'RO'))
        base.command('btrfs', 'qgroup', 'limit', '4K', str(self.home('alpha', 'pool', 'shares', name)))
        self._pool_of_beta()
        self.told(
            self.ensure('alpha')[self.served],
            f'{SIX} could not be reached',
            'NFS server did not run',
            'Other access rules',
            'was another',
            'it is 1 GiB',
        )
        self.told(
            self.ensure('beta')[self.alone],
            'The pool was not mounted',
            'NFS server did not run',
            'was not mounted',
        )
        self.all_read()

    def _pool_of_beta(self):
        home = self.home('beta')
        self.kill_server(home)
        for place in [*home.glob('exports/*'), home / 'pool']:
            mounts.unmount(place)
        mounts.detach(self.machine.state / 'beta.img')
        self.assertFalse(self.read_alone('read', 'f')[0])

    def _namespace_mount_file(self, home, space, name):
        base.ip('netns', 'delete', space)
        base.command('umount', '--lazy', str(home / 'exports' / name))
        (home / 'exports.d' / f'{name}.conf').unlink()
        manager = ganesha_dbus.ExportManager(ganesha._socket(self.home('beta')))
        number, path = next((number, path) for number, path in manager.shown().items() if number)
        manager.call('RemoveExport', 'q', [number])
        base.command(
            'btrfs',
            'qgroup',
            'limit',
            'none',
            str(self.home('beta', 'pool', 'shares', path.rpartition('/')[2])),
        )
        self.told(
            self.ensure('alpha')[self.served],
            'network namespace of the share server was gone',
            FOUR,
            SIX,
            'was not mounted',
            'was not exported',
            'was missing',
        )
        self.told(self.ensure('beta')[self.alone], 'was not exported', 'was no limit')
        self.all_read()

    def _gone(self):
        """Check that lost data is reported as lost, and nothing is put in its place."""
        place = self.home('alpha', 'pool', 'shares', self.directory.rpartition('/')[2])
        place.rename(place.with_name('elsewhere'))
        self.assertEqual({}, self.ensure('alpha'))
        self.assertEqual('error', self.lite.ok('GET', f'/shares/{self.served}')['share']['status'])
        told = self.lite.ok('GET', f'/messages?resource_id={self.served}')['messages']
        self.assertIn('not in the pool', told[0]['user_message'])
        self.assertFalse(place.exists())

    def _another_address(self):
        """Check that export locations follow a changed address in the configuration at the next start."""
        self.lite.kill(signal.SIGTERM)
        base.ip('-n', self.plain.name('nas'), 'addr', 'add', '10.99.0.9/24', 'dev', 'eth0')
        self.lite.config.write_text(
            self.lite.config.read_text().replace(
                f'linux_export_ips = {self.plain.v4("nas")}', 'linux_export_ips = 10.99.0.9'
            )
        )
        self.lite.start()
        path = self.until(
            lambda: [path for path, _ in self.locations(self.alone) if path.startswith('10.99.0.9:')],
            'the export location follows',
        )[0].partition(':')[2]
        self.assertEqual(
            (True, 'hello'), nfs_client.call('10.99.0.9', path, 'read', 'f', netns=self.plain.name('one'))
        )
