# SPDX-License-Identifier: Apache-2.0
"""A client that may mount one share forges file handles, and reaches nothing but that share.

It knows the handle of its own share: a head by NFS-Ganesha, then the handle by the kernel, with its type and, on btrfs,
the numbers of the inode, of the subvolume and of a generation.
"""

import ctypes
import os
import random
import struct
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.protocols import handle_guard
from manila_lite.host.commands import CommandFailed
from manila_lite.tests.functional.linux import base, cifs_base, server_base
from manila_lite.tests.security import nfs4

#: Length of the kernel's handle of a file on btrfs.
_BTRFS = 20
#: Refusals that a forger may get.
_SHUT = ('STALE', 'BADHANDLE', 'ACCESS')
_POOL_TOP, _FIRST_INODE = 5, 256


def kernel_handle(path):
    """Return the type and the bytes of the kernel's handle of a file."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle, mount = ctypes.create_string_buffer(struct.pack('=Ii', 128, 0), 8 + 128), ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(path), handle, ctypes.byref(mount), 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
    length, kind = struct.unpack('=Ii', handle.raw[:8])
    return kind, handle.raw[8 : 8 + length]


def forged(handle, inode, root, generation=0):
    """Return the handle with another file in it."""
    return handle[:-_BTRFS] + struct.pack('<QQI', inode, root, generation)


def tries(client, handle):
    """Yield the acts of an attacker with a handle, as (name, call)."""
    yield 'look', lambda: client.kind(handle)
    yield 'list', lambda: client.names(handle)
    yield 'read', lambda: client.read(handle)
    yield 'write', lambda: client.write(handle, b'broken')
    yield 'empty', lambda: client.truncate(handle)
    yield 'make', lambda: client.make(handle, 'planted')
    yield 'remove', lambda: client.remove(handle, 'secret')
    yield 'enter', lambda: client.lookup(handle, 'secret')
    yield 'climb', lambda: client.parent(handle)


class _Forging:
    """Mixin for a test of a backend. ``pair``: my share, a client that may mount it, and a share of another project."""

    def setUp(self):
        super().setUp()
        self.mine, self.client, self.other = self.pair()
        self.addCleanup(self.client.close)
        self.handle = self.client.walk('shares', self.mine.id)
        for share in (self.mine, self.other):
            (self.place(share) / 'secret').write_text(share.id)
            (self.place(share) / 'secret').chmod(0o600)
        (self.place(self.other) / 'folder').mkdir()
        (self.place(self.other) / 'folder' / 'secret').write_text('deep')

    def place(self, share):
        """Return the path of the share in the pool."""
        return self.driver.parts.pool.share(share.id)

    def snapshot(self):
        """Return the path of a snapshot of my share; it holds files deleted since, and cannot be mounted."""
        snapshot = values.Snapshot(f'snap-{self.mine.id}', self.mine, 1)
        self.driver.create_snapshot(snapshot)
        self.addCleanup(self.driver.delete_snapshot, snapshot)
        return self.driver.parts.pool.snapshot(snapshot.id)

    def shut(self, handle, about, also=()):
        """Check that every act with the handle is refused."""
        for what, call in tries(self.client, handle):
            try:
                result = call()
            except nfs4.Refused as refused:
                self.assertIn(refused.name, (*_SHUT, *also), f'{about}: {what}')
            else:
                self.fail(f'{about}: {what} gave {result!r}')

    def test_real_handles_of_other_files_are_refused(self):
        """Real handles of others are refused: the best that an attacker could guess."""
        top, theirs = self.driver.parts.pool.root, self.place(self.other)
        for path in (
            top,
            top / 'shares',
            top / 'snapshots',
            theirs,
            theirs / 'secret',
            theirs / 'folder',
            theirs / 'folder' / 'secret',
            self.snapshot(),
            self.snapshot() / 'secret',
        ):
            kind, handle = kernel_handle(path)
            self.assertEqual(kernel_handle(self.place(self.mine))[0], kind)
            self.shut(self.handle[:-_BTRFS] + handle, path)
        self.assertEqual(self.other.id, (theirs / 'secret').read_text())
        self.assertEqual(['folder', 'secret'], sorted(os.listdir(theirs)))
        self.assertEqual(self.mine.id, self.client.read(self.client.lookup(self.handle, 'secret')).decode())

    def test_guessed_handles_of_every_subvolume_are_refused(self):
        ours = btrfs.subvolume_id(self.place(self.mine))
        last = max(btrfs.subvolume_id(path) for path in (self.place(self.other), self.snapshot()))
        for root in (1, 2, 3, 4, _POOL_TOP, 6, 7, 8, 9, *range(_FIRST_INODE, last + 3), 2**63, 2**64 - 1):
            for inode in (1, 2, _FIRST_INODE, _FIRST_INODE + 1, _FIRST_INODE + 2):
                self.shut(
                    forged(self.handle, inode, root),
                    f'inode {inode} of {root}{" (my own)" if root == ours else ""}',
                )

    def test_handles_with_heads_of_other_exports_are_refused(self):
        """The head has the number of the export and the id of its file system."""
        self.let_in_other()
        theirs = self.handle_of_other()
        mixed = {
            'their export number': theirs[:4] + self.handle[4:],
            'my export number': self.handle[:4] + theirs[4:],
            'their file system': theirs[:-_BTRFS] + self.handle[-_BTRFS:],
            'all theirs': theirs,
            'my file system': self.handle[:-_BTRFS] + theirs[-_BTRFS:],
        }
        for about, handle in mixed.items():
            if handle != self.handle:
                self.shut(handle, about)

    def test_handles_with_changed_bits_are_harmless(self):
        """Other changes of a handle are harmless, and the server survives."""
        chance = random.Random(4)
        for _ in range(300):
            handle = bytearray(self.handle)
            for _ in range(chance.randint(1, 3)):
                handle[chance.randrange(len(handle))] ^= 1 << chance.randrange(8)
            handle = bytes(
                handle[: chance.choice((len(handle), len(handle), chance.randrange(len(handle) + 1)))]
            )
            if handle != self.handle:
                self._harmless(handle)
        self.assertEqual([b'secret'], self.client.names(self.handle))

    def _harmless(self, handle):
        try:
            names = self.client.names(handle)
        except nfs4.Refused:
            return
        # Some bits of the head are ignored, so that it names the same root; a handle with the pseudo bit names the tree
        # above exports.
        self.assertIn(names, ([b'secret'], [b'shares'], [self.mine.id.encode()]), handle.hex())

    def test_parent_lookups_end_at_the_root_of_the_exports(self):
        above = self.client.parent(self.handle)
        self.assertEqual([self.mine.id.encode()], self.client.names(above))
        self.assertEqual([b'shares'], self.client.names(self.client.parent(above)))
        self.assertRaises(nfs4.Refused, self.client.parent, self.client.parent(above))

    def test_names_with_paths_are_refused(self):
        for word in ('..', '.', '../secret', 'folder/..', '/etc'):
            refused = self.assertRaises(nfs4.Refused, self.client.lookup, self.handle, word)
            self.assertNotEqual('OK', refused.name)
            self.assertRaises(nfs4.Refused, self.client.make, self.handle, word)
            self.assertRaises(nfs4.Refused, self.client.remove, self.handle, word)

    def test_handles_are_useless_after_their_rule_is_deleted(self):
        """A handle is useless after the rule, or the share, is deleted; and after a read-only rule, for writing."""
        secret = self.client.lookup(self.handle, 'secret')
        self.allow('ro')
        self.assertEqual(self.mine.id, self.client.read(secret).decode())
        for what, call in tries(self.client, secret):
            if what in ('write', 'empty'):
                self.assertEqual('ROFS', self.assertRaises(nfs4.Refused, call).name)
        self.allow(None)
        self.shut(secret, 'without a rule')
        self.shut(self.handle, 'without a rule')
        self.allow('rw')
        self.assertEqual(self.mine.id, self.client.read(secret).decode())
        self.driver.delete_share(self.mine)
        self.shut(secret, 'of a deleted share')
        self.shut(self.handle, 'of a deleted share')

    def test_df_shows_the_share(self):
        btrfs.sync(self.driver.parts.pool.root)
        available, free, total = self.client.space(self.handle)
        self.assertEqual(1 << 30, total)
        self.assertEqual(available, free)
        self.assertLess(available, total)
        self.driver.extend_share(self.mine, 2)
        self.assertEqual(2 << 30, self.client.space(self.handle)[2])


class Plain(_Forging, base.LinuxTest):
    """A backend without share servers: one NFS server for all projects."""

    def pair(self):
        mine, other = self.share(), self.share()
        self.grant(mine, (self.fabric.v4('one'), 'rw'))
        self.grant(other, (self.fabric.v4('two'), 'rw'))
        return mine, nfs4.Client(self.fabric.v4('nas'), netns=self.fabric.name('one')), other

    def allow(self, level):
        self.grant(self.mine, *([(self.fabric.v4('one'), level)] if level else []))

    def let_in_other(self):
        pass

    def handle_of_other(self):
        client = nfs4.Client(self.fabric.v4('nas'), netns=self.fabric.name('two'))
        self.addCleanup(client.close)
        return client.walk('shares', self.other.id)


class Servers(_Forging, server_base.ServerTest):
    """A share server: the shares of another network's server are in the same pool."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.theirs = cls.machine.server('twin')
        cls.driver.setup_server(cls.theirs)
        cls.machine.client('spy', 'twin', 101)

    def pair(self):
        mine, other = self.share(), self.share(self.theirs)
        self.grant(mine, (server_base.address('four', 101), 'rw'))
        client = nfs4.Client(server_base.address('four', 5), netns=self.machine.space('one4'))
        return mine, client, other

    def allow(self, level):
        self.grant(self.mine, *([(server_base.address('four', 101), level)] if level else []))

    def let_in_other(self):
        self.grant(self.other, (server_base.address('twin', 101), 'rw'))

    def handle_of_other(self):
        client = nfs4.Client(server_base.address('twin', 5), netns=self.machine.space('spy'))
        self.addCleanup(client.close)
        return client.walk('shares', self.other.id)


class Unguarded(base.LinuxTest):
    """Exports without a guard are not served."""

    def test_server_that_bypasses_the_guard_serves_no_share(self):
        share, server = self.share(), self.driver.parts.protocol_servers.of('NFS').server
        self.addCleanup(server.start, lambda: None)
        self.addCleanup(server.stop)
        guarded = server._conf
        self.addCleanup(setattr, server, '_conf', guarded)
        server.stop()
        server._conf = guarded.replace(str(server.fsal.plugins), str(handle_guard.plugin().parent))
        self.assertNotEqual(guarded, server._conf)
        refused = self.assertRaises(CommandFailed, server.start, lambda: None)
        self.assertIn('does not use its guard', str(refused))
        self.assertFalse(server.running)
        server.exports.suspend(share.id)
        server.start(lambda: None)
        refused = self.assertRaises(CommandFailed, self.grant, share, (self.fabric.v4('one'), 'rw'))
        self.assertIn('does not use its guard', str(refused))
        self.refused('NOENT', 'one', share, 'list')

    def test_library_that_somebody_put_in_place_is_not_loaded(self):
        share, server = self.share(), self.driver.parts.protocol_servers.of('NFS').server
        library = server.fsal.plugins / handle_guard.LIBRARY
        made = library.read_bytes()
        server.stop()
        library.unlink()
        library.symlink_to(handle_guard.plugin())
        server.start(lambda: None)
        self.assertEqual((False, made), (library.is_symlink(), library.read_bytes()))
        self.grant(share, (self.fabric.v4('one'), 'rw'))
        self.works('one', share, 'list')

    def test_exported_plain_directory_is_not_served(self):
        """A second line of defence, if a plain directory is exported by mistake: inode 2 is the root of the host."""
        share = self.share()
        plain = Path(self.state, 'plain', share.id)
        for place, kind in ((plain, 'of the host'), (self.driver.parts.pool.root / 'plain', 'of the pool')):
            place.mkdir(parents=True)
            (place / 'f').write_text('x')
            block = (
                self.driver.parts.protocol_servers.of('NFS')
                .blocks([values.AccessRule('r', 'ip', self.fabric.v4('one'), 'rw')])[0][0]
                .text
            )
            self.driver.parts.protocol_servers.of('NFS').serve('plain', place, [block])
            self.addCleanup(self.driver.parts.protocol_servers.of('NFS').forget, 'plain')
            client = nfs4.Client(self.fabric.v4('nas'), netns=self.fabric.name('one'))
            self.addCleanup(client.close)
            handle = client.walk('shares', 'plain')
            length = len(kernel_handle(place)[1])
            for about, made in (
                ('itself', handle),
                ('the top', handle[:-length] + kernel_handle(place.parent)[1]),
                ('a file', handle[:-length] + kernel_handle(place / 'f')[1]),
            ):
                for what, call in tries(client, made):
                    if what not in ('look', 'climb'):  # the server looks at the root of an export by itself
                        self.assertIn(
                            self.assertRaises(nfs4.Refused, call).name, _SHUT, f'{kind}, {about}: {what}'
                        )
            self.driver.parts.protocol_servers.of('NFS').forget('plain')


@cifs_base.needs_samba
class Directories(cifs_base.Directory):
    """A pool that is a plain directory is served over CIFS only."""

    def test_nfs_share_is_refused_in_a_directory_pool(self):
        share = values.Share('new', 's', 'p', 1, 'NFS', 'pool')
        refused = self.assertRaises(errors.Final, self.driver.create_share, share)
        self.assertIn('NFS', str(refused))
        self.assertEqual('CIFS', self.driver.report()[0].capabilities['storage_protocol'])
        self.assertRaises(OSError, nfs4.Client, self.fabric.v4('nas'), netns=self.fabric.name('one'))
        share = self.cifs()
        self.allow(share, ('alice', 'rw'))
        self.writes(share, 'alice')

    def test_old_nfs_share_is_reported_with_the_reason_and_can_be_deleted(self):
        share = values.Share('before', 's', 'p', 1, 'NFS', 'pool')
        (self.driver.parts.pool.share('before')).mkdir()
        result = self.driver.ensure_shares([values.EnsureTarget(share, ())])['before']
        self.assertIn('manila-linux-convert', result.error)
        self.driver.delete_share(share)
        self.assertFalse(self.driver.parts.pool.share('before').exists())
