# SPDX-License-Identifier: Apache-2.0
"""Disks made from images, and images made from disks."""

import os
import shutil
import tempfile
from pathlib import Path

import fixtures
import testtools

from manila_lite import errors
from manila_lite.host.commands import ENV
from manila_lite.siblings.compute.drivers import disks

#: Prints the output of qemu-img: an image with a backing file, or one without; converting copies.
_QEMU_IMG = """#!/bin/sh
case $1 in
  info) cat "$(dirname "$0")/info" ;;
  convert) cp "$6" "$7" ;;
esac
"""


class Disks(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.image, self.disk = self.folder / 'image', self.folder / 'disk'
        self.image.write_bytes(b'content')

    def test_disk_is_a_copy_of_the_image_and_never_shrinks(self):
        disks.make(self.image, self.disk, 0)
        self.assertEqual(b'content', self.disk.read_bytes())
        disks.make(self.image, self.disk, 2)
        self.assertEqual(2 << 30, self.disk.stat().st_size)
        disks.grow(self.disk, 1)
        self.assertEqual(2 << 30, self.disk.stat().st_size, 'a disk never shrinks')
        self.assertRaises(errors.Final, disks.make, self.folder / 'nothing', self.disk, 0)

    def test_image_is_a_copy_of_the_disk(self):
        self.disk.write_bytes(b'disk')
        disks.keep(self.disk, self.image, self.folder / '.draft')
        self.assertEqual(b'disk', self.image.read_bytes())
        self.assertRaises(
            errors.Final, disks.keep, self.disk, self.folder / 'image.qcow2', self.folder / '.draft'
        )
        self.assertEqual({'disk', 'image'}, set(os.listdir(self.folder)))

    def test_qcow2_image_with_a_backing_or_data_file_is_refused(self):
        (self.folder / 'qemu-img').write_text(_QEMU_IMG)
        (self.folder / 'qemu-img').chmod(0o755)
        image = self.folder / 'image.qcow2'
        image.write_bytes(b'content')
        self.useFixture(_Path(self.folder))
        for said, whole in (
            ('{}', True),
            ('{"backing-filename": "/etc/shadow"}', False),
            ('{"format-specific": {"data": {"data-file": "/etc/shadow"}}}', False),
        ):
            (self.folder / 'info').write_text(said)
            if whole:
                disks.make(image, self.disk, 0)
                self.assertEqual(b'content', self.disk.read_bytes())
            else:
                self.assertRaises(errors.Final, disks.make, image, self.disk, 0)


class _Path(fixtures.Fixture):
    """A folder of programs that comes first on the product's PATH."""

    def __init__(self, folder):
        super().__init__()
        self._folder = folder

    def _setUp(self):
        before = ENV['PATH']
        self.addCleanup(ENV.__setitem__, 'PATH', before)
        ENV['PATH'] = f'{self._folder}:{before}'
