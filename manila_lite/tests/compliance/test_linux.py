# SPDX-License-Identifier: Apache-2.0
"""The linux driver keeps the contract: real storage and a real NFS server, in a network namespace.

Needs root and the packages of bindep.txt; without them every test is skipped, and the reason names what is missing.
"""

import dataclasses
import json
import os
import subprocess
import uuid
from pathlib import Path

import fixtures

from manila_lite import errors, values
from manila_lite.drivers.file_servers import ganesha_exports
from manila_lite.drivers.linux.driver import LinuxDriver
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.protocols import check
from manila_lite.drivers.linux.replication import peer_session
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.compliance import (
    backups,
    base,
    calls,
    edge_cases,
    manage_shares,
    migrations,
    replication,
    server_calls,
    servers,
    share_migrations,
)
from manila_lite.tests.functional.linux import base as linux_base
from manila_lite.tests.linux_teardown import tear_down

_GIB = 1 << 30
#: Bits of an entry in Ganesha's list of clients that say which access the client has.
_LEVEL_BITS = 0x1E0
_LEVELS = {0x1E0: 'rw', 0x0A0: 'ro'}


class LinuxBinding(base.Binding):
    DRIVER = 'linux'
    MOMENTS = (0.0, 0.01, 0.05)
    GOOD = (('ip', '10.1.0.5', 'rw'), ('ip', '10.2.0.0/24', 'ro'), ('ip', 'fd00:1::/64', 'rw'))

    def setUp(self):
        if lacks := linux_base.missing():
            self.skipTest(f'real storage needs {lacks}')
        self.netns = f'manila-{os.getpid()}-{uuid.uuid1().hex[:8]}'
        self._run('ip', 'netns', 'add', self.netns)
        self.addCleanup(self._run, 'ip', 'netns', 'delete', self.netns)
        self._run('ip', '-n', self.netns, 'link', 'set', 'lo', 'up')
        super().setUp()

    def _run(self, *words: str) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def _sweep(self) -> None:
        """Unmount also what a broken driver mounted in a wrong place."""
        tear_down(self.driver, remove_data=True)
        places = [line.split()[4] for line in Path('/proc/self/mountinfo').read_text().splitlines()]
        for place in reversed(places):
            if place.startswith(f'{self.root}/'):
                self._run('umount', '--lazy', place)

    def options(self):
        return {
            'linux_pool_path': str(self.root / 'pool.img'),
            'linux_pool_size_gb': '8',
            'linux_netns': self.netns,
            'linux_graceless': 'true',
            'linux_export_ips': 'fd00::1, 10.0.0.1',
        }

    def new_driver(self):
        driver = super().new_driver()
        if not hasattr(self, 'driver'):
            self.addCleanup(self._sweep)
        return driver

    def _file(self, share) -> Path:
        return self.driver.parts.pool.share(share.id) / 'data'

    def write(self, share, text):
        self._file(share).write_text(text)

    def read(self, share):
        return self._file(share).read_text() if self._file(share).exists() else ''

    def fill(self, share, gib):
        with self._file(share).with_name('filler').open('wb') as filler:
            os.posix_fallocate(filler.fileno(), 0, int(gib * _GIB))
        self._run('btrfs', 'filesystem', 'sync', str(self._file(share).parent))  # which counts it

    def limit(self, share):
        shown = self._run('btrfs', 'qgroup', 'show', '-F', '-r', '--raw', str(self._file(share).parent))
        (group,) = (line.split() for line in shown.splitlines() if line.startswith('0/'))
        return int(group[3]) / _GIB

    def protocol_server(self, share):
        """Return the NFS server that the share is on."""
        return self.driver.parts.protocol_servers.of('NFS')

    def in_force(self, share):
        """Return the clients that Ganesha admits now, by its own account and not by a file."""
        protocol_server = self.protocol_server(share)
        nfs = protocol_server.server
        shown = {entry[1]: entry[0] for entry in nfs._manager.call('ShowExports', position=1)}
        number = shown.get(str(protocol_server.mount_point(share.id)))
        if number is None:
            return set()
        clients = nfs._manager.call('DisplayExport', 'q', [number], position=4)
        return {
            ('ip', entry[0].removesuffix('/32').removesuffix('/128'), _LEVELS[entry[-2] & _LEVEL_BITS])
            for entry in clients
        }

    def in_force_of_snapshot(self, snapshot):
        """Return the rules of the snapshot's export, which is like a share's, with the snapshot's id."""
        return self.in_force(dataclasses.replace(snapshot.share, id=snapshot.id))

    def lose_power(self):
        """Simulate a reboot, and a file that a disk check moved away."""
        tear_down(self.driver)
        next(self.state_dir.glob('**/exports.d/*.conf')).unlink()
        self.restart()


class LinuxPowerTest(LinuxBinding):
    def is_there(self, resource):
        folder = 'shares' if isinstance(resource, values.Share) else 'snapshots'
        return (self.driver.parts.pool.root / folder / resource.id).exists()

    def lose_the_power(self):
        """Restart with the disk as it is at this moment, without the contents of the caches."""
        image, then = self.root / 'pool.img', self.root / 'then.img'
        self._run('cp', '--sparse=always', str(image), str(then))
        tear_down(self.driver)
        then.replace(image)
        self.restart()

    def test_loss_of_power_undoes_no_call_that_has_ended(self):
        doomed, share, new, clone = (self.a_share() for _ in range(4))
        for one in (doomed, share):
            self.driver.create_share(one)
        self.write(share, 'old')
        first, group = self.a_snapshot(share), self.a_snapshot(share)
        self.driver.create_snapshot(first)
        self.write(share, 'new')
        btrfs.sync(self.driver.parts.pool.root)
        undone = []
        for call, argument, has_worked in (
            ('create_share', (new,), lambda: self.is_there(new)),
            ('create_share_from_snapshot', (clone, first), lambda: self.read(clone) == 'old'),
            ('revert_to_snapshot', (first,), lambda: self.read(share) == 'old'),
            ('create_group_snapshot', ([group],), lambda: self.is_there(group)),
            ('delete_snapshot', (first,), lambda: not self.is_there(first)),
            (
                'delete_share',
                (doomed,),
                lambda: not list((self.driver.parts.pool.root / 'shares').glob(f'*{doomed.id}*')),
            ),
        ):
            getattr(self.driver, call)(*argument)
            self.lose_the_power()
            if not has_worked():
                undone.append(call)
        self.assertEqual([], undone)


class LinuxCifsBinding(LinuxBinding):
    """The same storage, with Samba."""

    GOOD = (('user', 'alice', 'rw'), ('user', 'bobby', 'ro'))
    OTHER = (('user', 'carol', 'rw'), ('user', 'alice', 'ro'))
    BAD = (
        ('telepathy', 'alice', 'rw'),
        ('user', 'alice', 'admin'),
        ('user', 'nobody there', 'rw'),
        ('ip', '10.1.0.5', 'rw'),
    )

    def setUp(self):
        super().setUp()
        if lacks := check.lacks_for_cifs(self.driver.backend.conf):
            self.skipTest(lacks)

    def options(self):
        users = self.root / 'users'
        users.write_text(
            ''.join(
                f'{name}:0:{"X" * 32}:{"0" * 32}:[U          ]:LCT-6B02628D:\n'
                for name in ('alice', 'bobby', 'carol')
            )
        )
        return super().options() | {'linux_cifs_users': str(users)}

    def a_share(self, *args, **changes):
        return super().a_share(*args, **{'proto': 'CIFS'} | changes)

    def protocol_server(self, share):
        return self.driver.parts.protocol_servers.of('CIFS')

    def in_force(self, share):
        """Return the clients in smbd's configuration, if smbd runs."""
        server = self.protocol_server(share).server
        seen = server.exports.inspect([share.id])[share.id] if server.running else ganesha_exports.Seen()
        return {('user', *client) for client in seen.clients}


class LinuxCifsEdgeCasesTest(edge_cases.EdgeCases, LinuxCifsBinding):
    # Storage is the same as with NFS, where the other tests run.
    test_deleting_what_is_not_there_is_a_success = test_share_that_is_not_there_cannot_be_resized = None
    test_share_that_is_not_there_has_no_snapshots = test_snapshot_that_is_not_there_cannot_be_cloned = None
    test_snapshot_that_is_not_there_cannot_be_reverted_to = test_pool_that_is_not_there = (
        test_ensuring_nothing
    ) = None
    test_ids_that_are_no_file_names_reach_nothing = test_report_has_free_capacity = None
    test_rules_of_a_share_that_is_not_there = test_protocol_that_is_not_served = None
    test_ensuring_reports_missing_shares_and_makes_none = None


class LinuxCifsEveryCallTest(calls.EveryCall, LinuxCifsBinding):
    # Storage is the same as with NFS.
    MOMENTS = (0.03,)
    scenarios = [row for row in calls.EveryCall.scenarios if row[0] in ('UpdateAccess', 'DeleteShare')]


class LinuxEveryCallTest(calls.EveryCall, LinuxBinding):
    pass


class LinuxBesideAccessTest(calls.BesideAccess, LinuxBinding):
    pass


class LinuxEdgeCasesTest(edge_cases.EdgeCases, LinuxBinding):
    pass


class LinuxManageTest(manage_shares.EveryManageCall, LinuxBinding):
    pass


class LinuxManageEdgeCasesTest(manage_shares.ManageEdgeCases, LinuxBinding):
    pass


class LinuxServersBinding(servers.OnServers, LinuxBinding):
    MOMENTS = (0.0, 0.03, 0.15)

    def options(self):
        return super().options() | {'linux_fabric_netns': f'{self.netns}-fabric'}

    def _sweep(self) -> None:
        super()._sweep()
        left = [
            name
            for name in os.listdir('/run/netns')
            if name == f'{self.netns}-fabric' or name in self._spaces
        ]
        for name in left:
            self._run('ip', 'netns', 'delete', name)
        self.assertEqual([], left)

    def a_server(self, *names, **changes):
        server = super().a_server(*names, **changes)
        self._spaces = {*getattr(self, '_spaces', ()), f'manila-{server.id}'}
        return server

    def protocol_server(self, share):
        return self.driver.parts.share_servers.protocol_server(share.server.id, share.proto)

    def addresses(self, server):
        """Return the addresses in the kernel, if an NFS server runs there."""
        try:
            protocol_server = self.driver.parts.share_servers.protocol_server(server.id)
        except (errors.Final, errors.Again):
            return set()
        return self.left_there(server) if protocol_server.server.running else set()

    def left_there(self, server):
        links = json.loads(
            self._run('ip', '-n', f'manila-{server.id}', '-json', 'address', 'show', 'scope', 'global')
        )
        return {address['local'] for link in links for address in link.get('addr_info', ()) if address}


class LinuxServersEveryServerCallTest(server_calls.EveryServerCall, LinuxServersBinding):
    # The other cases would set up a server and then skip.
    scenarios = [
        row
        for row in server_calls.EveryServerCall.scenarios
        if issubclass(LinuxDriver, row[1]['case_class'].ABILITY)
    ]


class LinuxBesideServerTest(server_calls.BesideServer, LinuxServersBinding):
    pass


class LinuxServerEdgeCasesTest(server_calls.ServerEdgeCases, LinuxServersBinding):
    test_security_service_of_a_server_that_is_not_there = None  # no UpdatesSecurityServices


class LinuxServersEveryCallTest(calls.EveryCall, LinuxServersBinding):
    # Storage is the same as without servers, where the other moments are tested.
    MOMENTS = (0.03,)


class LinuxServersManageTest(manage_shares.EveryManageCall, LinuxServersBinding):
    # The same; snapshots do not depend on servers.
    MOMENTS = (0.03,)
    scenarios = [row for row in manage_shares.EveryManageCall.scenarios if 'Share' in row[0]]


class LinuxOrigin:
    """The source backend, as a peer."""

    MOMENTS = (0.4,)

    def options(self):
        peers = [f'{host}:{self.config_file}' for host in (migrations.ORIGIN_HOST, base.HOST)]
        return super().options() | {'driver': 'linux', 'linux_peers': ','.join(peers)}

    def origin_options(self):
        return {'linux_pool_path': str(self.root / 'origin.img')}

    def setUp(self):
        super().setUp()
        with self.config_file.open('a') as file:
            file.write(
                f'[DEFAULT]\nhost = here\nstate_path = {self.root}\n'
                f'enabled_share_backends = {migrations.ORIGIN}, {base.NAME}\n'
            )

    def close_origin(self):
        tear_down(self.origin, remove_data=True)

    def left_of(self, migration):
        return sorted(
            str(place)
            for pool in (self.state_dir / 'pool', self.root / migrations.ORIGIN / 'pool')
            for place in (pool / 'moving').glob('*')
        )


class LinuxMigrationBinding(LinuxOrigin, migrations.Migrates, LinuxServersBinding):
    def bother_origin(self, migration):
        super().bother_origin(migration)
        with self.at_origin():
            self.assertTrue(self.driver.ensure_servers([migration.source])[migration.source.id].error)
            self.driver.setup()


class LinuxMigrationsTest(server_calls.EveryMigrationCall, LinuxMigrationBinding):
    # The other cases are part of these: each sets up two backends and three servers.
    scenarios = [
        row
        for row in server_calls.EveryMigrationCall.scenarios
        if row[0] in ('Continue', 'Cancel', 'CompleteInPlace')
    ]
    test_call_keeps_its_promise = test_call_repeated_after_a_restart = None


class LinuxMovesWithinTest(server_calls.EveryMigrationCall, LinuxMigrationBinding):
    # Calls are short, since nothing is copied.
    MOMENTS = (0.01, 0.05, 0.1, 0.2, 0.4)
    scenarios = [
        row
        for row in server_calls.EveryMigrationCall.scenarios
        if row[0] in ('ContinueWithin', 'CancelWithin', 'CompleteWithin')
    ]
    test_call_keeps_its_promise = None


class LinuxCifsMigrationTest(server_calls.EveryMigrationCall, LinuxMigrationBinding, LinuxCifsBinding):
    # The data is copied as with NFS; this is about the exports afterwards.
    scenarios = [row for row in server_calls.EveryMigrationCall.scenarios if row[0] == 'CompleteInPlace']
    test_call_keeps_its_promise = test_call_repeated_after_a_kill = test_call_repeated_after_a_restart = None

    def origin_options(self):
        return super().origin_options() | {'linux_cifs_users': str(self.root / 'users')}

    def test_a_target_without_cifs_is_no_target(self):
        migration = self.a_migration()
        self.driver.parts.exports.protocols = frozenset({'NFS'})
        self.assertIn(
            'not serve CIFS', self.driver.share_server_migration_check_compatibility(migration).reason
        )
        self.assertRaises(errors.Final, self.driver.share_server_migration_start, migration)


class LinuxMigrationEdgeCasesTest(server_calls.MigrationEdgeCases, LinuxMigrationBinding):
    def test_leftovers_are_not_taken_for_what_is_to_come(self):
        migration = self.a_migration()
        share = dataclasses.replace(migration.shares[0], server=self.server, pool=migration.pool)
        self.addCleanup(self.driver_call, 'delete_share', share)
        self.driver.create_share(share)
        self.write(share, 'old')
        for _ in range(2):
            self.assertRaises(errors.Final, self.driver.share_server_migration_start, migration)
        self.assertEqual('old', self.read(share))
        self.assert_serves_there(migration)

    def test_what_came_over_is_thrown_away_if_the_source_was_called_back(self):
        """A cut-over fails when all data is in its place. The source serves clients again, then the migration is completed."""
        migration = self.a_migration(keeps_addresses=True)
        self.driver.share_server_migration_start(migration)
        self.near(migration)
        with fixtures.MonkeyPatch(f'{ShareAccess.__module__}.ShareAccess.update', _fail):
            self.assertRaises(CommandFailed, self.driver.share_server_migration_complete, migration)
        self.assertRaises(errors.Final, self.driver.share_server_migration_cancel, migration)
        with peer_session.PeerSession(
            peer_session.command(migrations.ORIGIN_HOST, self.driver.backend.conf)
        ) as session:
            session.ask('resume', server=migration.source.id)
        self.assertIsNone(self.origin.ensure_servers([migration.source])[migration.source.id].error)
        self.assert_serves_there(migration)
        with self.at_origin():
            self.write(migration.shares[0], 'later still')
        self.driver.share_server_migration_complete(migration)
        here = [dataclasses.replace(share, server=migration.target) for share in migration.shares]
        self.assertEqual(['later still', 'second'], [self.read(share) for share in here])
        self.assertEqual([], self.left_of(migration))


class LinuxShareMigrationBinding(LinuxOrigin, share_migrations.MovesShares, LinuxBinding):
    def origin_options(self):
        return super().origin_options() | {'linux_nfs_port': '12049'}


class LinuxBackupsTest(backups.EveryBackupCall, backups.KeepsBackups, LinuxBinding):
    # The other cases are part of these.
    scenarios = [
        row
        for row in backups.EveryBackupCall.scenarios
        if row[0] in ('CreateContinue', 'RestoreContinue', 'RestoreOfNothing', 'Delete')
    ]
    MOMENTS = (0.05,)
    test_call_keeps_its_promise = test_call_repeated_after_a_restart = None

    def backup_type(self):
        export = self.root / 'export'
        export.mkdir(exist_ok=True)
        return values.BackupType('nightly', str(export), 'none', 'bind')


class LinuxReplicationBinding(LinuxOrigin, replication.Follows, LinuxBinding):
    def origin_options(self):
        return super().origin_options() | {'linux_nfs_port': '12049'}

    def is_fenced(self, share):
        return btrfs.is_read_only(self.driver.parts.pool.share(share.id))


class LinuxReplicationTest(replication.EveryReplicationCall, LinuxReplicationBinding):
    # The other cases are part of these: each sets up two backends.
    scenarios = [
        row
        for row in replication.EveryReplicationCall.scenarios
        if row[0] in ('Demote', 'Promote', 'GiveUpSnapshots', 'DeleteGivenUp')
    ]
    test_call_keeps_its_promise = test_call_repeated_after_a_restart = None


class LinuxReplicationEdgeCasesTest(LinuxReplicationBinding):
    def test_one_that_was_to_be_replaced_is_ensured(self):
        replica = self.a_replica()
        self.driver.create_replica(replica)
        with peer_session.PeerSession(
            peer_session.command(migrations.ORIGIN_HOST, self.driver.backend.conf)
        ) as session:
            session.ask('freeze', share=replica.active.id)
        with self.at_origin():
            self.assertTrue(self.is_fenced(replica.active))
            self.assertIn('replica', ' '.join(self.ensured(replica.active).repaired))
            self.assertFalse(self.is_fenced(replica.active))
            self.write(replica.active, 'goes on')
        self.assertEqual('in_sync', self.driver.update_replica(replica).state)
        self.assertEqual('goes on', self.read(replica.share))

    def test_a_promotion_that_is_repeated_keeps_the_writes_of_clients(self):
        replica = self.a_replica()
        self.driver.create_replica(replica)
        with fixtures.MonkeyPatch(f'{ShareAccess.__module__}.ShareAccess.update', _then_fail):
            self.assertRaises(CommandFailed, self.driver.promote_replica, replica)
        self.assertEqual(set(self.GOOD), self.in_force(replica.share))
        self.write(replica.share, 'later still')
        self.driver.promote_replica(replica)
        self.assertEqual('later still', self.read(replica.share))
        self.assertEqual([], self.left_of(replica))


class LinuxShareMigrationsTest(share_migrations.EveryShareMigrationCall, LinuxShareMigrationBinding):
    # The other cases are part of these: each sets up two backends.
    scenarios = [
        row for row in share_migrations.EveryShareMigrationCall.scenarios if row[0] in ('Cancel', 'Complete')
    ]
    test_call_keeps_its_promise = test_call_repeated_after_a_restart = None


def _fail(*_):
    raise CommandFailed('as told')


def _then_fail(access, *arguments, update=ShareAccess.update):
    update(access, *arguments)
    raise CommandFailed('as told')
