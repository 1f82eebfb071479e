# SPDX-License-Identifier: Apache-2.0
"""The exports of an NFS server that does not run can be changed all the same."""

import contextlib
import types
from pathlib import Path

import fixtures
import testtools

from manila_lite.drivers.linux.protocols import protocol_servers
from manila_lite.host.commands import CommandFailed

CONF = types.SimpleNamespace(
    linux_nfs_port=2049,
    linux_cifs_port=445,
    linux_cifs_connections=1000,
    linux_connections_per_address=64,
    linux_cifs_users=None,
    linux_cifs_active_directory=False,
    linux_cifs_domain=None,
    driver_handles_share_servers=False,
    linux_graceless=False,
    linux_grace_period=30,
    linux_pool_type='btrfs',
    linux_pool_path='/pool',
    linux_pool_fence='none',
)


class StoppedProtocolServerTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path).resolve() / 'state'
        self.protocol_server = protocol_servers.ProtocolServers(
            self.state, CONF, None, lambda resource_id: None
        ).of('NFS')
        for place in ('exports.d', 'held', 'drafts'):
            (self.state / place).mkdir(parents=True)

    def test_discarded_share_is_deleted_from_all_folders(self):
        for place in ('exports.d', 'held', 'drafts'):
            for name in ('gone', 'kept'):
                (self.state / place / f'{name}.conf').write_text('EXPORT {}')
        self.protocol_server.mount_point('gone').mkdir(parents=True)
        for _ in range(2):
            self.protocol_server.discard('gone')
            self.assertEqual([], list(self.state.rglob('gone*')))
        self.assertEqual(['kept.conf'] * 3, [file.name for file in self.state.rglob('kept*')])

    def test_stopped_server_is_not_started_by_restart_if_dead(self):
        self.protocol_server.server.stop()
        refused = self.assertRaises(CommandFailed, self.protocol_server.server.restart_if_dead)
        self.assertIn('stopped', str(refused))
        self.assertFalse(self.protocol_server.server.running)


class PoolThatIsElsewhereTest(testtools.TestCase):
    """The guard of the pool has let go of it: nothing is mounted, and no server started."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path).resolve() / 'state'
        self.state.mkdir()
        self.protocol_server = protocol_servers.ProtocolServers(
            self.state, CONF, None, lambda resource_id: self.state, self._refuse
        ).of('NFS')

    @contextlib.contextmanager
    def _refuse(self):
        raise CommandFailed('has let go')
        yield

    def test_nothing_is_mounted(self):
        refused = self.assertRaises(CommandFailed, self.protocol_server.serve, 's', self.state, [])
        self.assertEqual('has let go', str(refused))
        self.assertEqual([], list(self.state.iterdir()))

    def test_no_server_is_started(self):
        refused = self.assertRaises(CommandFailed, self.protocol_server.server.restart_if_dead)
        self.assertEqual('has let go', str(refused))
        self.assertEqual([], list(self.state.iterdir()))
