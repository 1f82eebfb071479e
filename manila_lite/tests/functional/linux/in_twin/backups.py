# SPDX-License-Identifier: Apache-2.0
"""Backups on an NFS export that the kernel mounts: by the driver itself, and through a mount of the share."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import fixtures

from manila_lite.tests import process, waiting
from manila_lite.tests.functional.linux import base, test_share_backups, test_share_migration

#: Looks of tests and of the service are rare: the twin is emulated, and each takes it a second.
SECONDS_BETWEEN_LOOKS = 3
#: The limit of waits there.
SECONDS_OF_WAITS = 900
RARE_LOOKS = """
[DEFAULT]
report_interval = 5
[operations]
poll_interval = 2
"""
_MORE = (
    RARE_LOOKS
    + """
[DEFAULT]
enabled_backup_types = saved
[saved]
{export}
backup_continue_update_interval = 1
[alpha]
backup_over_nfs = true
"""
)
ME = '10.99.0.99'


class KernelNfs(test_share_backups.BacksUp):
    """``alpha`` mounts its shares as a client does; ``beta`` backs up in the driver. Backups are on a share of ``beta``."""

    BACKEND = test_share_migration.Moves.BACKEND
    BACKENDS = (('alpha', 'beta', 'alpha.img'), ('beta', 'alpha', 'beta.img'))
    ATTRIBUTES = ()
    # These tests keep backups in a directory.
    test_backup_restores_all_files_after_a_restart_and_at_other_backends = None
    test_backup_fails_when_its_export_cannot_be_mounted = None
    test_backup_fails_when_the_export_has_no_extended_attributes = None
    test_reset_of_the_share_status_removes_intermediate_copies = None
    test_intermediate_copy_is_removed_after_a_switch_to_nfs_backups = None
    test_another_backend_deletes_the_backup_of_a_removed_backend = None

    def setUp(self):
        self.useFixture(fixtures.MonkeyPatch('manila_lite.tests.waiting.LONGEST', SECONDS_BETWEEN_LOOKS))
        self.useFixture(fixtures.MonkeyPatch('manila_lite.tests.waiting.LIMIT', SECONDS_OF_WAITS))
        super().setUp()
        self.reach_backends()
        with self.lite.config.open('a') as config:
            config.write(_MORE.format(export=self.export()))
        self.again()

    def export(self):
        """Return the options that say where backups are kept."""
        self.vault = self.make('beta', share_type='any')
        self.admit(self.vault, ME)
        return f'backup_mount_export = {self.location(self.vault)}\nbackup_mount_options = vers=4.2,soft,timeo=300'

    def reach_backends(self):
        """Connect this host to the network of the backends."""
        fabric = self.fabric.name('fabric')
        base.ip('link', 'add', 'ml-host', 'type', 'veth', 'peer', 'name', 'p-host', 'netns', fabric)
        self.addCleanup(base.ip, 'link', 'delete', 'ml-host')
        base.ip('-n', fabric, 'link', 'set', 'p-host', 'master', 'br0', 'up')
        base.ip('address', 'add', f'{ME}/24', 'dev', 'ml-host')
        base.ip('link', 'set', 'ml-host', 'up')

    def fill(self, place):
        """Fill as in the base class, without extended attributes: NFS-Ganesha 4.3 does not serve them."""
        copy = super().fill(place)
        os.removexattr(place / 'same', 'user.colour')
        return copy

    def location(self, share):
        return self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0]['path']

    def admit(self, share, address, level='rw'):
        """Add an access rule and wait until it is active; return its id."""
        _, made = self.act(
            share, 'allow_access', {'access_type': 'ip', 'access_to': address, 'access_level': level}
        )
        self.lite.wait(f'/share-access-rules/{made["access"]["id"]}', 'access', 'active', field='state')
        return made['access']['id']

    def rules(self, share):
        found = self.lite.ok('GET', f'/share-access-rules?share_id={share}')['access_list']
        return [(rule['access_to'], rule['access_level'], rule['state']) for rule in found]

    @contextlib.contextmanager
    def mounted(self, share):
        """Mount the share on this host inside the block. Yield the mount point, or None if the mount is refused."""
        place = self.state / 'mounted'
        place.mkdir(exist_ok=True)
        done = subprocess.run(
            ['mount', '-t', 'nfs', '-o', 'vers=4.2,soft,timeo=300,retry=0', self.location(share), place],
            capture_output=True,
            timeout=waiting.LIMIT,
        )
        yield None if done.returncode else place
        if not done.returncode:
            base.command('umount', str(place))

    def assert_shut_out(self, share):
        with self.mounted(share) as place:
            self.assertIsNone(place)

    def spoil_as_client(self, share):
        """Change the files over NFS: the server would not see changes in the pool at once."""
        rule = self.admit(share, ME)
        with self.mounted(share) as place:
            self.spoil(place)
        self.act(share, 'deny_access', {'access_id': rule})
        self.lite.wait(f'/share-access-rules/{rule}', 'access', 'gone', field='state')

    @contextlib.contextmanager
    def told(self, name):
        """Print the duration of a part, as progress for the outer test."""
        begin = time.monotonic()
        yield
        print(f'{name}: {time.monotonic() - begin:.0f} s', flush=True)

    def assert_nothing_is_mounted(self, backend):
        self.assertNotIn(f'{self.state}/lib/{backend}/backups', Path('/proc/mounts').read_text())
        self.assertEqual([], list((self.state / 'lib' / backend / 'backups').glob('*')))

    def test_backups_restore_at_both_backends_and_a_reset_leaves_nothing(self):
        for part in (self.both_ways, self.reset_meanwhile):
            with self.told(part.__name__):
                part()

    def both_ways(self):
        share = self.make('alpha')
        self.admit(share, self.fabric.v4('one'))
        rules = self.rules(share)
        place, vault = self.place('alpha', share), self.place('beta', self.vault)
        copy = self.fill(place)
        self.assert_shut_out(share)
        backup = self.back_up(share)
        self.ends(backup)
        self.assert_as(copy, vault / backup)
        self.assertIn(
            f'Backup {backup}: the server of share {share} shows no extended attributes',
            self.lite.log.read_text(),
        )
        # A backup by either way can be restored by the other.
        other = self.make('beta', share_type='any')
        self.restore(backup, other)
        self.is_back(other)
        self.assert_as(copy, self.place('beta', other))
        second = self.back_up(other)
        self.ends(second)
        self.spoil_as_client(share)
        self.restore(second, share)
        self.is_back(share)
        self.assert_as(copy, place)
        self.assertEqual(rules, self.rules(share))
        self.assert_shut_out(share)
        for gone in (backup, second):
            self.lite.ok('DELETE', f'/share-backups/{gone}')
            self.ends(gone, 'gone')
        self.assertEqual([], list(vault.iterdir()))
        for backend in ('alpha', 'beta'):
            self.assert_nothing_is_mounted(backend)

    def is_back(self, share):
        self.lite.wait(f'/shares/{share}', 'share', 'available')

    def copied_in_part(self):
        """Return a share and a backup of it that is partly copied."""
        share = self.make('alpha')
        with (self.place('alpha', share) / 'big').open('wb') as big:
            for _ in range(150):
                big.write(b'x' * (1 << 20))
        backup = self.back_up(share)
        some = [str(percent) for percent in range(1, 100)]
        self.lite.wait(f'/share-backups/{backup}', 'share_backup', some, field='progress')
        return share, backup

    def reset_meanwhile(self):
        share, backup = self.copied_in_part()
        self.act(share, 'reset_status', {'status': 'available'})
        self.ends(backup, 'error')
        left = self.state / 'lib' / 'alpha' / 'backups'
        process.until(lambda: not list(left.iterdir()), 'nothing is left', self.lite.tail)
        self.assert_shut_out(share)
        self.assert_nothing_is_mounted('alpha')
