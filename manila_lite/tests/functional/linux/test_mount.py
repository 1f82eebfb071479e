# SPDX-License-Identifier: Apache-2.0
"""Ordinary programs on a mounted share."""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

from manila_lite.drivers.linux import btrfs
from manila_lite.tests.functional.linux import base


def _lacks():
    """Return what a mount in user space needs and is not here, or nothing."""
    wanted = {'/dev/fuse': Path('/dev/fuse').exists(), 'fusermount3 (package fuse3)': shutil.which('fusermount3'),
              'mfusepy (from PyPI)': importlib.util.find_spec('mfusepy')}
    return ', '.join(what for what, found in wanted.items() if not found)


@unittest.skipIf(_lacks(), f'a mount in user space needs {_lacks()}')
class Mounted(base.ShareTest):
    """The share is mounted by the host "one", and cp, cat and dd work on it as the rules and the size allow."""

    def setUp(self):
        super().setUp()
        self.place = self.state / f'mnt-{self.made.id}'
        self.place.mkdir()
        self.grant(self.made, (self.fabric.v6('one'), 'rw'))
        served = subprocess.Popen([
            sys.executable, '-m', 'manila_lite.tests.nfs_mount', '--netns', self.fabric.name('one'),
            self.fabric.v6('nas'), f'/shares/{self.made.id}', str(self.place)])
        self.addCleanup(self._unmount, served)
        end = time.monotonic() + 20
        while not os.path.ismount(self.place) and served.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        self.assertTrue(os.path.ismount(self.place))

    def _unmount(self, served):
        subprocess.run(['umount', '--lazy', str(self.place)], check=False, capture_output=True, timeout=30)
        served.wait(30)

    def _fails(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, 'LC_ALL': 'C'})
        self.assertNotEqual(0, done.returncode, done.stdout)
        return done.stderr

    def test_programs_work_as_rules_and_size_allow(self):
        source = self.state / 'tree'
        (source / 'sub').mkdir(parents=True)
        (source / 'sub' / 'random').write_bytes(os.urandom(300_000))
        (source / 'text').write_text('hello')
        base.command('cp', '-r', str(source), str(self.place))
        base.command('diff', '-r', str(source), str(self.place / 'tree'))
        self.assertEqual('hello', (self.driver._pool.share(self.made.id) / 'tree' / 'text').read_text())
        btrfs.limit(self.driver._pool.root, self.driver._pool.share(self.made.id), 8 << 20)
        self.assertIn('Disk quota exceeded',
                      self._fails('dd', 'if=/dev/urandom', f'of={self.place}/big', 'bs=1M', 'count=12'))
        self.grant(self.made, (self.fabric.v6('one'), 'ro'))
        self.assertEqual('hello', base.command('cat', f'{self.place}/tree/text'))
        self.assertIn('Read-only file system', self._fails('cp', str(source / 'text'), f'{self.place}/more'))
        self.grant(self.made)
        self.assertIn('Permission denied', self._fails('cat', f'{self.place}/tree/text'))
