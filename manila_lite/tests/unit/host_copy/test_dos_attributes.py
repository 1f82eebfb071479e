# SPDX-License-Identifier: Apache-2.0
"""Copies of the attributes of files that Windows shows, and failures in the output of the programs that make them."""

import os
import subprocess
import tempfile
from pathlib import Path

import fixtures
import testtools

from manila_lite.host.commands import CommandFailed
from manila_lite.host_copy import dos_attributes, messages
from manila_lite.tests import waiting


class Silent(dos_attributes.CifsCopy):
    """A copy that does not begin."""

    def start(self):
        pass


class Failures(testtools.TestCase):
    def heard(self, *lines):
        told = dos_attributes.Messages()
        for line in lines:
            told.heed(line)
        return told.failed

    def test_files_whose_attributes_cannot_be_copied_are_kept_with_the_reason(self):
        self.assertEqual(
            {'d/x: y': 'Permission denied', 'z': 'Operation not supported', '': 'Input/output error'},
            self.heard(
                b'/target/d/x: y: user.cifs.dosattrib: Permission denied',
                b'setfattr: /target/z: Operation not supported',
                b'getfattr: /target: Input/output error',
            ),
        )

    def test_files_that_went_and_links_are_no_failures(self):
        self.assertEqual(
            {},
            self.heard(
                b'/target/link: user.cifs.dosattrib: No such attribute',
                b'getfattr: /target/d: No such file or directory',
                b'setfattr: /target/gone: z: No such file or directory',
                b'  32,768  1%  0.00kB/s  0:00:00  ',
            ),
        )


class Copied(testtools.TestCase):
    def test_attributes_that_rsync_does_not_list_are_copied(self):
        """Give a local file the attribute of a mount, and keep rsync from copying it."""
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        source, target = folder / 'source', folder / 'target'
        (source / 'sub').mkdir(parents=True)
        target.mkdir()
        file = Path('sub', 'f: x\n"y\\')
        (source / file).write_text('x')
        (source / 'link').symlink_to(file)
        os.setxattr(source / file, 'user.cifs.dosattrib', b'\x22\0\0\0')
        copy = dos_attributes.CifsCopy(source, target, '--checksum', '--no-xattrs')
        copy.join(waiting.LIMIT)
        self.assertEqual((True, {}), (copy.is_complete, copy.messages.failed), copy.error)
        self.assertEqual(b'\x22\0\0\0', os.getxattr(target / file, 'user.cifs.dosattrib'))

    def test_list_that_is_too_long_or_cut_off_fails_the_copy(self):
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        os.setxattr(folder, 'user.cifs.dosattrib', b'\x10\0\0\0')
        copy = Silent(folder, folder)
        self.useFixture(fixtures.MonkeyPatch('manila_lite.host_copy.dos_attributes._MOST', 10))
        with tempfile.TemporaryFile() as told:
            self.assertRaises(
                messages.TooMany, copy._have, folder, dos_attributes._READ, said=subprocess.PIPE, out=told
            )
            self.assertRaises(CommandFailed, dos_attributes._must_be_whole, told)

    def test_copy_without_the_sandbox_fails(self):
        copy = Silent(Path('/there'), Path('/here'))
        self.assertRaises(CommandFailed, copy._have, Path('/there'), dos_attributes._READ)
