# SPDX-License-Identifier: Apache-2.0
"""Conversion of a pool from a plain directory to btrfs, with all its data; its shares are served over NFS again."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from oslo_utils import uuidutils

from manila_lite import values
from manila_lite.drivers.linux.pool import btrfs, convert
from manila_lite.host import mounts
from manila_lite.tests import waiting
from manila_lite.tests.factories import files, kept
from manila_lite.tests.functional.linux import base

_IDENT = uuidutils.generate_uuid()


class Converted(base.LinuxTest):
    POOL = 'new.img'

    @classmethod
    def setUpClass(cls):
        cls.old = cls.enterClassContext(_folder())
        (cls.old / 'shares').mkdir()
        (cls.old / 'shares' / _IDENT).mkdir()
        files.plant(cls.old / 'shares' / _IDENT)
        (cls.old / 'shares' / '.half.new').mkdir()
        (cls.old / 'left' / 'shares').mkdir(parents=True)
        (cls.old / 'left' / 'shares' / 'not-ours').write_text('note')
        super().setUpClass()

    @classmethod
    def make(cls):
        cls.said = subprocess.run(
            [
                sys.executable,
                '-m',
                'manila_lite.drivers.linux.pool.convert',
                cls.old,
                cls.state / cls.POOL,
                '--size-gb',
                '4',
            ],
            capture_output=True,
            text=True,
            timeout=waiting.LIMIT,
        )
        return super().make()

    def test_converted_pool_has_all_files_and_is_served(self):
        self.assertEqual(0, self.said.returncode, self.said.stderr)
        self.assertIn(f'linux_pool_path = {self.state / self.POOL}', self.said.stdout)
        before, after = self.old / 'shares' / _IDENT, self.driver.parts.pool.share(_IDENT)
        self.assertTrue(btrfs.is_subvolume(after))
        # This is a copy by root, of files that no client can change any more: of attributes it leaves out none.
        self.assertEqual(
            kept.DROPS['host'] - {'other attributes'}, kept.lost(kept.look(before), kept.look(after))
        )
        self.assertEqual(
            [_IDENT], [place.name for place in (self.driver.parts.pool.root / 'shares').iterdir()]
        )
        self.assertIn('not-ours', self.driver.parts.pool.unmanaged_shares)
        share = values.Share(_IDENT, 's', 'p', 5, 'NFS', 'pool')
        rule = values.AccessRule('r', 'ip', self.fabric.v4('one'), 'rw')
        self.assertIsNone(self.driver.ensure_shares([values.EnsureTarget(share, (rule,))])[_IDENT].error)
        self.assertEqual('world', self.works('one', share, 'read', 'world'))
        self.assertEqual(5 << 30, btrfs.limit_of(self.driver.parts.pool.root, after))

    def test_unsuitable_source_and_target_paths_are_refused(self):
        made = self.state / self.POOL
        for words, why in (
            ((self.state, self.state / 'x'), 'no directory "shares"'),
            ((self.old, made), 'is there'),
            ((self.old, self.old / 'shares' / 'x.img'), 'in a share'),
        ):
            with contextlib.redirect_stdout(io.StringIO()):
                arguments = type('Given', (), {'directory': words[0], 'image': words[1], 'size_gb': 1})
                self.assertIn(why, convert._convert(arguments))


class Interrupted(base.LinuxTest):
    def test_interrupted_conversion_unmounts_exports_and_succeeds_when_repeated(self):
        old = self.enterContext(_folder())
        for resource_id in ('a', 'b'):
            _fill_small(old / 'shares' / resource_id)
        exported = self.state / 'elsewhere' / 'exports' / 'b'
        mounts.bind(old / 'shares' / 'b', exported)
        self.addCleanup(mounts.unmount, exported)
        image = self.state / 'converted.img'
        steps = convert.convert(old, image, 1)
        self.assertEqual([(0, 2, 'a'), (1, 2, 'b')], [next(steps), next(steps)])
        self.assertFalse(mounts.is_mounted(exported))
        steps.close()
        self.assertFalse(image.exists())
        (old / 'shares' / 'a' / 'gone').unlink()
        list(convert.convert(old, image, 1))
        pool = self.state / 'look'
        device = mounts.attach(image)
        self.addCleanup(mounts.detach, image)
        mounts.mount(device, pool)
        self.addCleanup(mounts.unmount, pool)
        self.assertEqual(['f'], os.listdir(pool / 'shares' / 'a'))
        self.assertEqual({'f', 'gone'}, set(os.listdir(pool / 'shares' / 'b')))


def _fill_small(place):
    place.mkdir(parents=True)
    for name in ('f', 'gone'):
        (place / name).write_text(name)


@contextlib.contextmanager
def _folder():
    place = Path(tempfile.mkdtemp(prefix='ml-linux-old-')).resolve()
    try:
        yield place
    finally:
        shutil.rmtree(place)
