# SPDX-License-Identifier: Apache-2.0
"""Bases of tests of copies without an API: backups of a driver's shares, moves by the host, and streams between two pools."""

import mmap
import os
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path

import testtools
from oslo_utils import uuidutils

from manila_lite import errors, values
from manila_lite.drivers.backups import backup_jobs_driver, nfs_backups
from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication import replication
from manila_lite.host_copy import share_moves
from manila_lite.host_copy.clients import Side
from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import base
from manila_lite.tests.linux_teardown import close

_PEER = """[DEFAULT]
host = test
state_path = {state}
enabled_share_backends = origin
[origin]
driver = linux
linux_pool_path = {state}/origin.img
linux_pool_size_gb = 4
"""


def break_on_disk(image, path):
    """Damage a file on the disk of a btrfs, so that it cannot be read any more. Its size and its time do not change."""
    was = path.stat()
    with path.open('r+b') as file:
        begin = os.urandom(was.st_size)  # of no other file
        file.write(begin)
        file.flush()
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        btrfs.sync(path.parent)
        with image.open('r+b') as disk, mmap.mmap(disk.fileno(), 0) as blocks:
            at = blocks.find(begin[:64])
            blocks[at : at + 16] = bytes(16)
            blocks.flush()
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class MountedCopies(backup_jobs_driver.BackupJobsDriver):
    """Copies as over NFS, with a bind mount of the directory: the kernel here has no NFS client."""

    copies = None

    def __init__(self, state, at):
        class Bound(nfs_backups.NfsCopies):
            def _mounted(self, share, backup, level):
                self.mount(str(at(share)), self.share_mount_point(backup.id), 'none', f'bind,{level}')
                return self.share_mount_point(backup.id)

        self.copies = Bound(state, '')


class BackupTest(base.LinuxTest):
    """``self.copies`` makes and restores backups of shares of the driver; clients work in ``self.at(share)``."""

    def setUp(self):
        super().setUp()
        self.folder = self.state / uuidutils.generate_uuid()
        self.folder.mkdir()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.export = self.folder / 'export'
        self.export.mkdir()
        self.copies = self.driver
        self.mine = self.share()

    def at(self, share):
        """Return the present folder of a share's files."""
        return self.driver.parts.pool.share(share.id)

    def backup(self, ratio=64.0):
        backup = values.Backup(
            uuidutils.generate_uuid(),
            1,
            values.BackupType('kept', str(self.export), 'none', 'bind', ratio),
            'test@linux',
            'p',
        )
        self.addCleanup(self.copies.delete_backup, backup)
        return backup

    def ends(self, verb, share, backup):
        """Wait for the end of the backup or restore. Return the message of its failure, or ''."""
        try:
            getattr(self.copies, f'{verb}_backup')(share, backup)
            waiting.until(
                lambda: getattr(self.copies, f'{verb}_backup_continue')(share, backup).percent >= 100,
                f'the {verb} ends',
            )
        except errors.Final as bad:
            return str(bad)
        return ''

    def kept(self, backup):
        return self.export / backup.id


class MoveTest(testtools.TestCase):
    """A share ``source`` is copied to ``target`` by the host. Both are bind mounts: the kernel here has no NFS client."""

    def setUp(self):
        super().setUp()
        if lacks := base.missing():
            raise unittest.SkipTest(f'a copy by the host needs {lacks}')
        self.state = Path(tempfile.mkdtemp(prefix='ml-moves-'))
        self.addCleanup(shutil.rmtree, self.state, ignore_errors=True)
        self.source, self.target = self.made_shares()
        conf = types.SimpleNamespace(
            data_node_access_ips=[],
            data_node_access_admin_user=None,
            data_node_mount_options={},
            data_node_local_exports=[f'nas:/shares={self.source.parent}'],
            mount_tmp_location=None,
            **self.options(),
        )
        self.moves = share_moves.ShareMoves(
            self.state, conf, types.SimpleNamespace(migration_ignore_files=[])
        )
        self.addCleanup(self.moves.clear, 'target')

    def options(self):
        return {
            'check_hash': False,
            'data_check_sample': 100,
            'data_copy_bandwidth_limit': 0.0,
            'data_copy_apparent_ratio': 64.0,
        }

    def made_shares(self):
        """Return the folders of both shares, on btrfs."""
        pool = BtrfsPool(self.state / 'pool', self.state / 'pool.img', 4)
        self.addCleanup(close, pool, remove_data=True)
        pool.open()
        for name in ('source', 'target'):
            pool.create(name, 1)
        return pool.share('source'), pool.share('target')

    def share(self, name):
        return values.Share(
            name,
            's',
            'p',
            1,
            'NFS',
            'pool',
            export_locations=(values.ExportLocation(f'nas:/shares/{name}', True),),
        )

    def ends(self, call):
        """Wait for the end of a pass or comparison. Return it, or the message of its failure."""

        def ended():
            run = call(Side(self.share('source')), Side(self.share('target')))
            return run.is_complete and run

        try:
            run = waiting.until(ended, 'it ends')
        except errors.Final as bad:
            return str(bad)
        self.moves.forget('target')
        return run


class StreamTest(testtools.TestCase):
    """The share ``s`` of one pool, and its snapshots ``SNAPSHOTS``, are copied to another, as in migrations and replicas."""

    SNAPSHOTS = ()

    def setUp(self):
        super().setUp()
        if lacks := base.missing():
            raise unittest.SkipTest(f'real storage needs {lacks}')
        self.state = Path(tempfile.mkdtemp(prefix='ml-streams-'))
        self.addCleanup(shutil.rmtree, self.state, ignore_errors=True)
        (self.state / 'conf').write_text(_PEER.format(state=self.state))
        self.origin, self.pool = (
            BtrfsPool(self.state / name / 'pool', self.state / f'{name}.img', 4)
            for name in ('origin', 'target')
        )
        for pool in (self.origin, self.pool):
            self.addCleanup(close, pool, remove_data=True)
            pool.open()
        self.origin.create('s', 1)
        self.share = self.origin.share('s')
        self.copy = replication.BtrfsCopy(
            self.pool,
            [
                sys.executable,
                '-m',
                'manila_lite.drivers.linux.peer',
                f'--config-file={self.state}/conf',
                'origin',
            ],
            'm',
            {'s': self.SNAPSHOTS},
        )

    def round(self):
        """Return the number of bytes that were copied."""
        with self.copy.session() as session:
            return self.copy.round(session)

    def landed(self):
        self.copy.land({'s': 1})
        return self.pool.share('s')
