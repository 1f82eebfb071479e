# SPDX-License-Identifier: Apache-2.0
"""A share server comes from another host: two hosts are two network namespaces, with ssh between them."""

import contextlib
import ctypes
import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

from manila_lite.tests import nfs_client, waiting
from manila_lite.tests.compliance import migrations, test_linux
from manila_lite.tests.functional.linux import base

HERE, THERE, PORT = '10.88.0.1', '10.88.0.2', 2222
_SSHD = """Port {port}
ListenAddress {address}
HostKey {root}/host_key
AuthorizedKeysFile {root}/authorized_keys
PidFile {root}/sshd.pid
PermitRootLogin forced-commands-only
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
"""


class TwoHostsTest(test_linux.LinuxMigrationBinding):
    """The source backend is reachable only from the host "here", and only through ssh."""

    def setUp(self):
        sshd = shutil.which('sshd', path='/usr/sbin')
        if lacks := base.missing() or ('' if sshd else 'sshd (package openssh-server)'):
            self.skipTest(f'two hosts need {lacks}')
        super().setUp()
        self._hosts_up()
        for name in ('host_key', 'peer_key', 'other_key'):
            self._run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', str(self.root / name))
        self._serve_ssh()
        self.trust('host_key')

    def options(self):
        return super().options() | {
            'linux_peers': f'{migrations.ORIGIN_HOST}:ssh://root@{THERE}:{PORT}',
            'linux_peer_identity': str(self.root / 'peer_key'),
            'linux_peer_known_hosts': str(self.root / 'known_hosts'),
        }

    def _hosts_up(self) -> None:
        here, there = self.hosts = f'{self.netns}-here', f'{self.netns}-there'
        for name in self.hosts:
            self._run('ip', 'netns', 'add', name)
            self.addCleanup(self._run, 'ip', 'netns', 'delete', name)
            self._run('ip', '-n', name, 'link', 'set', 'lo', 'up')
        self._run(
            'ip', '-n', here, 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'up0', 'netns', there
        )
        for name, address in zip(self.hosts, (HERE, THERE), strict=True):
            self._run('ip', '-n', name, 'addr', 'add', f'{address}/24', 'dev', 'up0')
            self._run('ip', '-n', name, 'link', 'set', 'up0', 'up')

    def _serve_ssh(self) -> None:
        """Run sshd as the documentation of migrations says: the key may only run the peer program."""
        program = f'{sys.executable} -m manila_lite.drivers.linux.peer --config-file {self.config_file}'
        key = (self.root / 'peer_key.pub').read_text()
        (self.root / 'authorized_keys').write_text(f'restrict,command="{program}" {key}')
        (self.root / 'sshd_config').write_text(_SSHD.format(root=self.root, address=THERE, port=PORT))
        Path('/run/sshd').mkdir(mode=0o755, exist_ok=True)  # sshd needs the directory
        with (self.root / 'sshd.log').open('ab') as said:
            sshd = subprocess.Popen(
                [
                    'nsenter',
                    f'--net=/run/netns/{self.hosts[1]}',
                    '/usr/sbin/sshd',
                    '-D',
                    '-e',
                    '-f',
                    str(self.root / 'sshd_config'),
                ],
                stdout=said,
                stderr=said,
                stdin=subprocess.DEVNULL,
            )
        self.addCleanup(sshd.wait, waiting.LIMIT)
        self.addCleanup(sshd.terminate)
        waiting.until((self.root / 'sshd.pid').exists, (self.root / 'sshd.log').read_text)

    def trust(self, name: str) -> None:
        """Make this key the known host key of the other host."""
        key = (self.root / f'{name}.pub').read_text()
        (self.root / 'known_hosts').write_text(f'[{THERE}]:{PORT} {key}')

    @contextlib.contextmanager
    def here(self):
        """Run the block in the network namespace of the host "here", with all processes that it starts."""
        libc = ctypes.CDLL(None, use_errno=True)
        home = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
        try:
            nfs_client.enter(self.hosts[0])
            yield
        finally:
            self.assertEqual(0, libc.setns(home, 0))
            os.close(home)

    def call_off(self, migration):
        with self.here():
            super().call_off(migration)

    def test_share_server_migrates_from_another_host(self):
        migration = self.a_migration(keeps_addresses=True)
        with self.here():
            self.assertTrue(self.driver.share_server_migration_check_compatibility(migration).compatible)
            self.driver.share_server_migration_start(migration)
            self.near(migration)
            with self.at_origin():
                self.write(migration.shares[1], 'late')
            self.driver.share_server_migration_complete(migration)
        self.assertEqual(set(), self.there('addresses', migration.source))
        self.assertEqual(self.planned(migration.target), self.addresses(migration.target))
        here = [dataclasses.replace(share, server=migration.target) for share in migration.shares]
        self.assertEqual(['later', 'late'], [self.read(share) for share in here])
        self.assertEqual([set(self.GOOD)] * 2, [self.in_force(share) for share in here])
        self.assertEqual([], self.left_of(migration))

    def test_other_commands_and_host_keys_are_refused(self):
        """Check that another host key is not accepted, and that our key allows nothing but the peer program."""
        migration = self.a_migration()
        with self.here():
            for command in ('id', 'origin; id', 'elsewhere', ''):
                done = self._ssh(command)
                self.assertEqual((2, ''), (done.returncode, done.stdout), done.stderr)
            bad = (
                '{"verb": "__init__", "driver": 1}',
                '{"verb": "take", "migration": "../x", "shares": {}}',
                'no',
            )
            done = self._ssh(migrations.ORIGIN, '\n'.join(bad))
            self.assertEqual(
                [0, 3, 3], [done.returncode, done.stdout.count('refused'), len(done.stdout.splitlines())]
            )
            self.trust('other_key')
            found = self.driver.share_server_migration_check_compatibility(migration)
        self.assertFalse(found.compatible)
        self.assertIn('Host key verification failed', found.reason)
        self.assert_serves_there(migration)
        self.trust('host_key')

    def _ssh(self, command: str, said: str = '') -> subprocess.CompletedProcess:
        return subprocess.run(
            [
                'ssh',
                '-F',
                'none',
                '-T',
                '-p',
                str(PORT),
                '-i',
                str(self.root / 'peer_key'),
                '-o',
                'BatchMode=yes',
                '-o',
                f'UserKnownHostsFile={self.root / "known_hosts"}',
                '-o',
                'LogLevel=ERROR',
                f'root@{THERE}',
                command,
            ],
            input=said,
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
