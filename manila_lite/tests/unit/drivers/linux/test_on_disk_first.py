# SPDX-License-Identifier: Apache-2.0
"""Data that comes to a place are on disk there before clients work with them, and before the place that they come from may go.

Each way in which clients, or a user who asks for a backup, come to rely on a copy. What happens is noted in order.
"""

import contextlib
import re
import types

import fixtures

from manila_lite import values
from manila_lite.drivers.backups.backup_jobs import BackupJobs
from manila_lite.drivers.backups.nfs_backups import NfsCopies
from manila_lite.drivers.linux.backups.share_backups import ShareBackups
from manila_lite.drivers.linux.driver import LinuxDriver
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import migrations, receiving_server
from manila_lite.drivers.linux.replication.replication import BtrfsCopy
from manila_lite.drivers.linux.replication.share_replicas import ShareReplicas
from manila_lite.drivers.linux.replication.transfer_folder import Received
from manila_lite.drivers.linux.shares.access import ShareAccess
from manila_lite.drivers.linux.shares.storage import Storage
from manila_lite.host_copy.share_moves import ShareMoves
from manila_lite.manager.plans import host_access, host_copy
from manila_lite.operation_data.host_copies import HostCopy
from manila_lite.operation_data.migrations import Reached
from manila_lite.tests.unit.drivers.linux.replication import base

#: The methods of a driver after which a copy is relied on, and what this module tries of each. Within a pool nothing is copied.
_METHODS = {
    'share_migration_complete': 'share migration',
    'share_server_migration_complete': 'server migration',
    'promote_replica': 'promotion',
    'create_backup_continue': 'backup',
    'restore_backup_continue': 'restore',
}
_RELIED_ON = re.compile('.*(_complete|_continue)|promote_.*|restore_.*')
#: Those that only begin, or go on with, a copy that another method completes.
_GO_ON = {'share_migration_continue', 'share_server_migration_continue', 'restore_backup'}
COPIED, ON_DISK, RELIED_ON = 'copied', 'on disk', 'relied on'


class OrderTest(base.ReplicationTest):
    def setUp(self):
        super().setUp()
        self.events = []
        done = types.SimpleNamespace(
            is_complete=True, target=self.root, messages=types.SimpleNamespace(differing=[], percent=100)
        )
        session = types.SimpleNamespace(ask=lambda *_, **__: {'before': False})
        self.note('manila_lite.drivers.linux.pool.btrfs.sync', ON_DISK)
        self.note('manila_lite.host.durable.write_out', ON_DISK)
        for owner, name in ((BtrfsCopy, 'land'), (ShareReplicas, '_receive')):
            self.note_of(owner, name, COPIED, True)
        for owner, name in (
            (ShareAccess, 'update'),
            (migrations, 'tidy'),
            (receiving_server, 'serve'),
            (ShareBackups, 'land'),
        ):
            self.note_of(owner, name, RELIED_ON, values.MigratedServer({}, {}, {}))
        self.note_of(BackupJobs, 'poll', COPIED, done)
        for owner, name in (
            (BtrfsCopy, 'begin'),
            (BtrfsCopy, 'round'),
            (BtrfsCopy, 'approach'),
            (BtrfsCopy, 'inspect_source'),
            (Storage, 'require'),
            (ShareReplicas, '_withdraw'),
            (BtrfsPool, 'keep_snapshot'),
        ):
            self.note_of(owner, name)
        for owner, name, value in (
            (BtrfsCopy, 'landed', lambda *_: False),
            (BtrfsCopy, 'begun', True),
            (Received, 'whole', lambda *_: set()),
            (BtrfsCopy, 'session', lambda *_: contextlib.nullcontext(session)),
        ):
            self.useFixture(fixtures.MonkeyPatch(f'{owner.__module__}.{owner.__name__}.{name}', value))
        self.server_migrations._servers = types.SimpleNamespace(prepare=lambda server_id: None)
        self.done = done

    def note(self, name, event='', result=None):
        self.useFixture(
            fixtures.MonkeyPatch(name, lambda *_, **__: (event and self.events.append(event)) or result)
        )

    def note_of(self, owner, name, event='', result=None):
        self.note(
            f'{owner.__module__}.{owner.__name__}.{name}'
            if isinstance(owner, type)
            else f'{owner.__name__}.{name}',
            event,
            result,
        )

    def check(self, way):
        """Check the order of what was noted."""
        first = self.events.index(COPIED)
        self.assertIn(ON_DISK, self.events, way)
        relied = self.events.index(RELIED_ON) if RELIED_ON in self.events else len(self.events)
        self.assertTrue(
            any(first < number < relied for number, event in enumerate(self.events) if event == ON_DISK),
            f'{way}: {self.events}',
        )
        self.events.clear()

    # Ways -----------------------------------------------------------------------------------------

    def test_share_migration(self):
        migration = values.ShareMigration(base.share('old'), 'there@linux', base.share('new'))
        self.peers()
        self.share_migrations.complete(migration)
        self.check('share migration')

    def test_share_server_migration(self):
        server = values.ShareServer('old', 'network', 'p')
        migration = values.ServerMigration(
            server, 'there@linux', values.ShareServer('new', 'network', 'p'), 'pool', (base.share('a'),), ()
        )
        self.peers()
        self.server_migrations.complete(migration)
        self.check('server migration')

    def test_promotion(self):
        self.replicas.promote(
            values.Replica(base.share('new'), 'readable', '', base.share('old'), 'there@linux')
        )
        self.check('promotion')

    def peers(self):
        """Have a peer from which all comes."""
        self.useFixture(
            fixtures.MonkeyPatch(
                'manila_lite.drivers.linux.replication.peer_session.command', lambda *_: ('true',)
            )
        )

    def test_backup_and_restore(self):
        state, backup = self.root / 'state', values.Backup('b', 1, values.BackupType('nightly'), 'h@b', 'p')
        for copies in (ShareBackups(state, self.replicas._storage, None), NfsCopies(state, '')):
            for way in (copies.make, copies.restore):
                self.assertEqual(100, way(base.share(), backup))
                self.check(f'{type(copies).__name__}.{way.__name__}')

    def test_copy_by_the_host(self):
        """Each part of the cut-over, and what is offered to an operator as ready."""
        self.note_of(host_copy, '_run', COPIED, self.done)
        self.note_of(ShareMoves, 'forget')
        self.note_of(ShareMoves, 'clear')
        moves = object.__new__(ShareMoves)
        moves.folder, moves._mounted = self.root, {}
        work = types.SimpleNamespace(
            data=Reached(),
            service=types.SimpleNamespace(
                moves=moves,
                driver=types.SimpleNamespace(update_access=lambda *_: self.events.append(RELIED_ON) or {}),
            ),
        )
        migration = values.ShareMigration(base.share('old'), 'there@linux', base.share('new'))
        copy = host_access.ShareCopy(work, migration, HostCopy(), 'a', 'new', 'p')
        host_copy.advance(copy)
        self.check('the copy is ready')
        host_copy.catch_up(copy, 1.0)
        self.assertLess(
            self.events.index(ON_DISK), len(self.events) - 1, 'it has to be compared as it is on disk'
        )
        host_copy.serve(copy)
        self.check('the cut-over')

    def test_these_are_all_ways(self):
        found = {name for name in dir(LinuxDriver) if _RELIED_ON.fullmatch(name) and not name.startswith('_')}
        self.assertEqual(set(_METHODS), found - _GO_ON)
