# SPDX-License-Identifier: Apache-2.0
"""Ordinary programs on a mounted share."""

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from manila_lite.drivers.linux.pool import btrfs
from manila_lite.siblings import nfs
from manila_lite.tests import process, waiting
from manila_lite.tests.functional.linux import base


def lacks():
    """Return the requirements of a mount in user space that are missing here, or an empty text."""
    wanted = {
        '/dev/fuse': Path('/dev/fuse').exists(),
        'fusermount3 (package fuse3)': shutil.which('fusermount3'),
        'mfusepy (from PyPI)': importlib.util.find_spec('mfusepy'),
    }
    return ', '.join(what for what, found in wanted.items() if not found)


@unittest.skipIf(lacks(), f'a mount in user space needs {lacks()}')
class Mounted(base.ShareTest):
    """The share is mounted by the host "one"; cp, cat and dd work within the access rules and the size."""

    def setUp(self):
        super().setUp()
        self.place = self.state / f'mnt-{self.made.id}'
        self.grant(self.made, (self.fabric.v6('one'), 'rw'))
        mounter = nfs.NfsMounter(
            nfs.LocalExecutor(self.fabric.name('one')), way='fuse', python=sys.executable
        )
        self.addCleanup(mounter.unmount, str(self.place), lazy=True)
        mounter.mount(f'[{self.fabric.v6("nas")}]:/shares/{self.made.id}', str(self.place))

    def _fails(self, *words):
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, env={**os.environ, 'LC_ALL': 'C'}
        )
        self.assertNotEqual(0, done.returncode, done.stdout)
        return done.stderr

    def test_programs_are_limited_by_access_rules_and_share_size(self):
        source = self.state / 'tree'
        (source / 'sub').mkdir(parents=True)
        (source / 'sub' / 'random').write_bytes(os.urandom(300_000))
        (source / 'text').write_text('hello')
        base.command('cp', '-r', str(source), str(self.place))
        base.command('diff', '-r', str(source), str(self.place / 'tree'))
        self.assertEqual('hello', (self.driver.parts.pool.share(self.made.id) / 'tree' / 'text').read_text())
        btrfs.limit(self.driver.parts.pool.root, self.driver.parts.pool.share(self.made.id), 8 << 20)
        self.assertIn(
            'Disk quota exceeded',
            self._fails('dd', 'if=/dev/urandom', f'of={self.place}/big', 'bs=1M', 'count=12'),
        )
        self.grant(self.made, (self.fabric.v6('one'), 'ro'))
        self.assertEqual('hello', base.command('cat', f'{self.place}/tree/text'))
        self.assertIn('Read-only file system', self._fails('cp', str(source / 'text'), f'{self.place}/more'))
        self.grant(self.made)
        self.assertIn('Permission denied', self._fails('cat', f'{self.place}/tree/text'))

    def test_open_file_survives_a_restart_of_the_server(self):
        log = self.driver.parts.pool.share(self.made.id) / 'log'
        # Another process holds the file open; the process that starts the server would wait for it otherwise.
        with (self.place / 'log').open('w') as file:
            writer = subprocess.Popen(
                ['sh', '-c', 'echo before; read word; echo after'], stdin=subprocess.PIPE, stdout=file
            )
        process.until(lambda: log.read_text() == 'before\n', 'the first line is there', str)
        base.kill(self.driver.parts.protocol_servers.of('NFS').server._server)
        self.driver.setup()
        writer.communicate(b'go\n', timeout=waiting.LIMIT)
        self.assertEqual((0, 'before\nafter\n'), (writer.returncode, log.read_text()))
        self.assertEqual(['log'], os.listdir(self.place))
