# SPDX-License-Identifier: Apache-2.0
"""Managed shares: data that an operator put into the pool, or that was unmanaged, is managed and served to clients."""

import dataclasses
import os
from pathlib import Path

from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.tests.functional.linux import base, cifs_base
from manila_lite.tests.linux_teardown import tear_down


class _Managed(base.LinuxTest):
    @property
    def pool(self):
        return self.driver.parts.pool

    def new(self):
        """Return a new share to manage."""
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', 0, 'NFS', 'pool')
        self.addCleanup(lambda: self.driver.delete_share(share))
        return share

    def path(self, *parts, address=None):
        return f'{address or self.fabric.v4("nas")}:/{"/".join(parts)}'

    def take(self, path, **options):
        """Manage the path; return the share with its size and export locations."""
        share = self.new()
        found = self.driver.manage_share(share, path, options)
        return dataclasses.replace(share, size=found.size, export_locations=found.export_locations)

    def says(self, why, path, **options):
        share = self.new()
        self.assertIn(
            why, str(self.assertRaises(errors.Final, self.driver.manage_share, share, path, options))
        )
        self.driver.unmanage_share(share)


class ManagedSubvolumes(_Managed):
    def made(self, *parts, content='precious'):
        """Make a subvolume as an operator would. Return its path."""
        place = self.pool.root.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        btrfs.create(place)
        (place / 'f').write_text(content)
        place.chmod(0o777)
        self.addCleanup(btrfs.delete, place)
        return place

    def test_managed_subvolume_is_served(self):
        place = self.made('nas', 'old')
        os.posix_fallocate(os.open(place / 'big', os.O_CREAT | os.O_WRONLY), 0, 1 << 20)
        share = self.take(str(place))
        self.assertEqual(1, share.size)
        self.refused('NOENT', 'one', share, 'read', 'f')
        self.grant(share, (self.fabric.v4('one'), 'rw'))
        self.assertEqual('precious', self.works('one', share, 'read', 'f'))
        self.assertFalse(place.exists())
        self.assertEqual(1 << 30, btrfs.limit_of(self.pool.root, self.pool.share(share.id)))

    def test_managed_share_size_is_its_limit_or_the_size_option(self):
        place = self.made('limited')
        btrfs.limit(self.pool.root, place, 5 << 29)
        self.assertEqual(3, self.take(self.path('limited'), size='7').size)
        self.made('free')
        self.says('is not a size', self.path('free'), size='many')
        self.says('no driver option', self.path('free'), sise='7')
        self.assertEqual(7, self.take(self.path('free'), size='7').size)

    def test_unsuitable_paths_cannot_be_managed(self):
        self.made('good')
        share = self.share()
        (self.pool.root / 'plain').mkdir(exist_ok=True)
        self.addCleanup((self.pool.root / 'plain').rmdir)
        inner = self.pool.share(share.id) / 'inner'
        btrfs.create(inner)
        link = self.pool.root / 'link'
        link.symlink_to(self.pool.root / 'good')
        self.addCleanup(link.unlink)
        for path, why in (
            ('plain', 'not a subvolume'),
            ('shares', 'cannot be'),
            ('snapshots', 'cannot be'),
            ('link', 'not a directory'),
            (f'shares/{share.id}', 'managed already'),
            (f'shares/{share.id}/inner', 'only the whole share'),
            ('none', 'There is no'),
        ):
            self.says(why, self.path(path))
        self.says('is not an address', self.path('good', address='192.0.2.1'))
        self.says('not in the pool', '/etc')
        btrfs.snapshot(self.pool.root / 'good', self.pool.root / 'frozen', read_only=True)
        self.addCleanup(btrfs.delete, self.pool.root / 'frozen')
        self.says('read-only', self.path('frozen'))
        self.assertTrue(inner.exists())

    def test_subvolume_is_moved_back_after_a_failed_manage(self):
        place = self.made('nas', 'half')
        share = self.take(str(place))
        asked = dataclasses.replace(share, export_locations=(values.ExportLocation(str(place)),))
        for _ in range(2):
            self.driver.unmanage_share(asked)
            self.assertEqual('precious', (place / 'f').read_text())
            self.assertFalse(self.pool.share(share.id).exists())
        self.assertEqual(1, self.take(str(place)).size)

    def test_unmanaged_share_is_not_served_even_after_a_reboot(self):
        share = self.share()
        self.grant(share, (self.fabric.v4('one'), 'rw'))
        self.works('one', share, 'write', 'f', 'mine')
        self.driver.unmanage_share(share)
        self.refused('NOENT', 'one', share, 'read', 'f')
        tear_down(self.driver)
        type(self).driver = self.make()
        self.driver.setup()
        self.refused('NOENT', 'one', share, 'read', 'f')
        self.assertRaises(errors.Final, self.grant, share, (self.fabric.v4('one'), 'rw'))
        self.assertEqual('mine', (self.pool.share(share.id) / 'f').read_text())
        back = self.take(self.path('shares', share.id, address=f'[{self.fabric.v6("nas")}]'))
        self.grant(back, (self.fabric.v4('one'), 'ro'))
        self.assertEqual('mine', self.works('one', back, 'read', 'f'))

    def test_only_read_only_snapshots_of_the_same_share_can_be_managed(self):
        share = self.share()
        place = self.pool.root / 'snapshots' / 'by-hand'
        btrfs.snapshot(self.pool.share(share.id), place, read_only=True)
        writable = self.pool.root / 'snapshots' / 'writable'
        btrfs.snapshot(self.pool.share(share.id), writable)
        self.addCleanup(btrfs.delete, writable)
        for location in (
            '/snapshots/writable',
            '/snapshots/none',
            '/shares/by-hand',
            '/snapshots/../snapshots/by-hand',
            '',
        ):
            wrong = values.Snapshot(uuidutils.generate_uuid(), share, 1, location)
            self.assertRaises(errors.Final, self.driver.manage_snapshot, wrong, {})
        snapshot = values.Snapshot(uuidutils.generate_uuid(), share, 1, '/snapshots/by-hand')
        found = self.driver.manage_snapshot(snapshot, {})
        self.assertEqual(values.ManagedSnapshot(1, f'/snapshots/{snapshot.id}'), found)
        self.assertFalse(place.exists())
        self.driver.unmanage_snapshot(
            snapshot
        )  # as after a failed attempt: under the path that was asked for
        self.assertTrue(place.exists())
        other = self.share()
        self.assertRaises(
            errors.Final, self.driver.manage_snapshot, dataclasses.replace(snapshot, share=other), {}
        )
        self.driver.manage_snapshot(snapshot, {})
        self.driver.delete_snapshot(snapshot)
        self.assertEqual(['writable'], [path.name for path in (self.pool.root / 'snapshots').iterdir()])


@cifs_base.needs_samba
class ManagedDirectories(cifs_base.Directory):
    """A plain directory is managed as a share, and served over CIFS."""

    def test_managed_directory_has_the_size_of_the_size_option(self):
        pool = self.driver.parts.pool
        place = Path(pool.root) / 'old'
        place.mkdir()
        (place / 'f').write_text('precious')
        share = values.Share(uuidutils.generate_uuid(), 's', 'p', 0, 'CIFS', 'pool')
        self.addCleanup(self.driver.delete_share, share)
        path = f'{self.fabric.v4("nas")}:/old'
        said = self.assertRaises(errors.Final, self.driver.manage_share, share, path, {})
        self.assertIn('driver option size', str(said))
        found = self.driver.manage_share(share, path, {'size': '2'})
        self.assertEqual(2, found.size)
        share = dataclasses.replace(share, size=found.size, export_locations=found.export_locations)
        self.allow(share, ('alice', 'ro'))
        self.reads(share, 'alice', text='precious')
        self.driver.unmanage_share(share)
        self.driver.delete_share(share)
        self.assertEqual('precious', (pool.share(share.id) / 'f').read_text())
