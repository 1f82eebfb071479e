# SPDX-License-Identifier: Apache-2.0
"""A migration by the host of the destination, which mounts both sides with mount.cifs."""

import contextlib
import os
import re
import subprocess

import fixtures
from oslo_utils import units

from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.protocols import user_list
from manila_lite.tests import process, waiting
from manila_lite.tests.functional.linux import base, test_host_assisted
from manila_lite.tests.functional.linux.in_twin import backups, moves

_SECRET = 'sesame-0'
#: The copy is slow enough to be seen. The host has the directory of one side only, so it has to mount that one, too.
_MOUNTS = f"""[DEFAULT]
data_copy_bandwidth_limit = 1
data_node_access_admin_user = mover
data_node_mount_options = cifs:"password={_SECRET},vers=3.1.1"
data_node_local_exports = //10.99.0.2={{state}}/lib/beta/pool/shares
"""
#: A line of the list of a directory by smbclient: a name, and letters for its attributes.
_LISTED = re.compile(r'^  (?P<name>\S+) +(?P<letters>[A-Za-z]+) +\d+ ', re.MULTILINE)


class KernelCifs(test_host_assisted.Cifs):
    """``alpha`` and ``beta`` know the user ``mover``."""

    BACKEND = (
        test_host_assisted.Cifs.BACKEND.partition('[DEFAULT]')[0].replace(
            'continue_update_interval = 0.2', 'continue_update_interval = 2'
        )
        + _MOUNTS
        + backups.RARE_LOOKS
    )

    def setUp(self):
        self.useFixture(
            fixtures.MonkeyPatch('manila_lite.tests.waiting.LONGEST', backups.SECONDS_BETWEEN_LOOKS)
        )
        self.useFixture(fixtures.MonkeyPatch('manila_lite.tests.waiting.LIMIT', backups.SECONDS_OF_WAITS))
        super().setUp()
        user_list.put(self.state / 'users', 'mover', user_list.entry('mover', _SECRET))
        backups.KernelNfs.reach_backends(self)

    def test_a_share_moves_with_its_files_and_rules(self):
        share = self.make('alpha', share_type='any', share_proto='CIFS')
        self.act(share, 'allow_access', {'access_type': 'user', 'access_to': 'alice'})
        self.rules_are_active(share)
        self.fill_as_client(share)
        before = self.listed(share)
        self.assertEqual(
            {'closed': 'R', 'same': 'HS', '.dotted': 'H'},
            {
                name: ''.join(sorted(set(letters) & set('RHS')))
                for name, letters in before.items()
                if set(letters) & set('RHS')
            },
        )
        copy = self.state / 'copy'
        base.command('cp', '-a', str(self.place('alpha', share)), str(copy))
        self.start(share)
        mounts = process.until(self.both_mounts, 'both sides are mounted', self.lite.tail)
        self.assertEqual(
            [('cifs', True)] * 2,
            [
                (mount[2], {'nosuid', 'nodev', 'noexec', 'username=mover'} <= set(mount[3].split(',')))
                for mount in mounts
            ],
        )
        self.task_is(share, test_host_assisted.READY)
        self.assertIn(
            'does not see Windows ACLs, alternate data streams, times of creation.', self.messages(share)
        )
        self.assertFalse(self.smb(share, 'put local g', 'too late')[0])
        self.complete(share)
        self.has_moved(share)
        self.is_copied(copy, self.place('beta', share))
        self.assertEqual(before, self.listed(share))
        self.assertTrue(self.smb(share, 'put local g', 'at home again')[0])
        self.assertNotIn(_SECRET, self.lite.log.read_text())

    def fill_as_client(self, share):
        with self.mounted(share) as place:
            (place / 'sub' / 'deeper').mkdir(parents=True)
            (place / 'sub' / 'random').write_bytes(os.urandom(4 << 20))
            (place / 'sub' / 'deeper' / 'größe').write_text('umlaut')
            (place / 'empty').mkdir()
            (place / '.dotted').write_text('a file server hides it')
            (place / 'closed').write_text('closed')
            (place / 'closed').chmod(0o444)
            with (place / 'sparse').open('wb') as file:
                file.truncate(8 << 20)
            (place / 'same').write_text('before')
            os.setxattr(place / 'same', 'user.colour', b'blue')
            os.sync()
            self.df_is_of_share(share, place)
        self.assertEqual((True, ''), self.smb(share, 'setmode same +hs'))

    def df_is_of_share(self, share, place):
        """Check the size and the use that a client sees: the size of the share, and the one file that is large."""
        btrfs.sync(self.place('alpha', share))
        found = os.statvfs(place)
        self.assertEqual(units.Gi, found.f_blocks * found.f_frsize)
        used = (found.f_blocks - found.f_bfree) * found.f_frsize
        self.assertLess(abs(used - 4 * units.Mi), units.Mi)

    @contextlib.contextmanager
    def mounted(self, share):
        """Mount the share as alice inside the block. Yield the mount point."""
        place = self.state / 'mounted'
        place.mkdir(exist_ok=True)
        location = self.lite.ok('GET', f'/shares/{share}/export_locations')['export_locations'][0][
            'path'
        ].replace('\\', '/')
        done = subprocess.run(
            ['mount', '-t', 'cifs', '-o', 'username=alice,password=alice', location, place],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        yield place
        base.command('umount', str(place))

    def listed(self, share):
        """Return the letters of the attributes, by the name of the file, but not that of sparse files: it comes with data."""
        worked, said = self.smb(share, 'ls; cd sub; ls')
        self.assertTrue(worked, said)
        return {
            found['name']: found['letters'].replace('s', '')
            for found in _LISTED.finditer(said)
            if found['name'] not in {'.', '..'}
        }

    def is_copied(self, copy, place):
        base.command('diff', '-r', str(copy), str(place))
        self.assertEqual(b'blue', os.getxattr(place / 'same', 'user.colour'))
        self.assertLess((place / 'sparse').stat().st_blocks, 1000)
        for file in ('closed', 'sub/random', 'sub/deeper'):
            # The protocol counts time in units of 100 ns.
            self.assertEqual(*((folder / file).stat().st_mtime_ns // 100 for folder in (copy, place)), file)

    both_mounts = moves.KernelNfs.both_mounts
