# SPDX-License-Identifier: Apache-2.0
"""A user of this machine mounts something by FUSE, with names that look like further lines of the table of mounts."""

import os
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from manila_lite.host import mounts
from manila_lite.tests import waiting

_FORGED = '/forged'
#: Runs in a mount namespace of its own. Prints which of the paths are mounted.
_PROGRAM = """
import subprocess, sys
from pathlib import Path
from manila_lite.host import mounts
place, source, *asked = sys.argv[1:]
subprocess.run(['mount', '-t', 'tmpfs', source, place], check=True)
print([mounts.is_mounted(Path(path)) for path in asked])
"""


class MountNames(testtools.TestCase):
    def found(self, name, source):
        """Mount a source at a directory of this name, which the mount's line in the table has. Return whether the directory
        counts as mounted, and a path that the names forge.
        """
        place = Path(self.useFixture(fixtures.TempDir()).path, name)
        place.mkdir()
        done = subprocess.run(
            [
                'unshare',
                '--mount',
                '--propagation',
                'private',
                sys.executable,
                '-c',
                _PROGRAM,
                str(place),
                source,
                str(place),
                _FORGED,
            ],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
            check=False,
        )
        return done.stdout.strip() or done.stderr

    def test_names_with_ends_of_lines_forge_no_mount_and_break_nothing(self):
        if os.geteuid():
            self.skipTest('mounts need root')
        for end in ('\r', '\v', '\f', '\x1c', '\x85', '\u2028', ' ', '\t', '\n', '\\', '#'):
            for name, source in ((f'm{end}X', _FORGED), ('m', f'a{end}b')):
                self.assertEqual('[True, False]', self.found(name, source), (name, source))

    def test_table_is_read_as_the_kernel_writes_it(self):
        table = Path(self.useFixture(fixtures.TempDir()).path, 'mountinfo')
        table.write_bytes(
            b'36 35 0:1 / /a\\040b\rc rw,relatime shared:1 - fuse.x /dev/x\\043 rw\n'
            b'37 35 0:2 / /\xff rw - tmpfs  rw\n'
        )
        self.assertEqual([('/a b\rc', '/dev/x#'), ('/\udcff', '')], mounts.mounted(table))
