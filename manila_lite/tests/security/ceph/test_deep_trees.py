# SPDX-License-Identifier: Apache-2.0
"""A tenant makes directories that are so deep that managers of the cluster die when they delete or copy them."""

import os
import subprocess

from manila_lite.tests import forks, waiting
from manila_lite.tests.compliance.test_cephfs import files
from manila_lite.tests.functional.ceph import base

#: Managers of Ceph 16.2 survive 900 levels, and die of this.
_LEVELS = 1300
_TRASH = b'/volumes/_deleting'


class DeepTrees(base.CephTest):
    def setUp(self):
        super().setUp()
        self.manager = self.ceph.daemons['mgr.x']
        self.process = self.manager.process

    def deep(self, share):
        """Make directories in the share, each in the one before, as a client does."""
        place = self.mount(share, self.grant(share, self.ident()))
        folder = os.open(place, os.O_RDONLY)
        for _ in range(_LEVELS):
            os.mkdir('d', dir_fd=folder)
            below = os.open('d', os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.close(os.open('f', os.O_CREAT, dir_fd=folder))
        os.close(folder)
        subprocess.run(['umount', str(place)], timeout=waiting.LIMIT, check=True)
        return share

    def manager_empties_the_trash(self):
        """Wait until the trash is empty, and check that it was the work of the manager that was there before."""
        waiting.until(
            lambda: self.process.poll() is not None or not self.in_trash(), 'the trash is empty', pause=0.2
        )
        self.assertIsNone(self.process.poll(), 'the manager died')
        self.remove(self.share())

    def in_trash(self):
        _, mount = files()
        folder = mount.opendir(_TRASH)
        try:
            names = []
            while entry := mount.readdir(folder):
                names.append(entry.d_name)
            return set(names) - {b'.', b'..'}
        finally:
            mount.closedir(folder)

    def repair(self, *backends):
        """Do the command that repairs the trash; return its output."""
        done = forks.run(
            'manila_lite.cmd.manage:main', f'--config-file={self.lite.config}', 'cephfs', 'trash', *backends
        )
        done.check_returncode()
        return done.stdout

    def test_deletion_of_a_share(self):
        self.remove(self.deep(self.share()))
        self.manager_empties_the_trash()

    def test_copy_is_refused_and_snapshot_and_share_are_deleted(self):
        share = self.deep(self.share())
        snapshot = self.snapshot(share)
        copy = self.lite.ok(
            'POST', '/shares', {'share': {'size': 1, 'share_proto': 'CEPHFS', 'snapshot_id': snapshot}}
        )
        copy = copy['share']['id']
        self.addCleanup(self.remove, copy)
        self.ends(copy, 'error')
        self.assertIn('257', ' '.join(self.messages(copy)))
        self.remove(copy)
        self.remove(share)
        self.manager_empties_the_trash()

    def test_deletion_of_a_copy(self):
        share = self.share()
        (self.mount(share, self.grant(share, self.ident())) / 'f').write_text('first')
        self.remove(self.deep(self.share(snapshot_id=self.snapshot(share))))
        self.manager_empties_the_trash()

    def test_deletion_of_a_share_whose_snapshot_stays_and_then_of_that(self):
        share = self.deep(self.share())
        name = self.path(share).split('/')[3]
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'create', 'a', name, 'kept')
        self.remove(share)
        self.manager_empties_the_trash()
        self.ceph.ask('fs', 'subvolume', 'snapshot', 'rm', 'a', name, 'kept')
        self.manager_empties_the_trash()

    def test_what_is_in_the_trash_already_is_repaired_without_a_manager(self):
        share = self.deep(self.share())
        path = os.path.dirname(self.path(share)).encode()
        self.ceph.kill('mgr.x')
        try:
            files()[1].rename(path, _TRASH + b'/old')
            self.assertIn('alpha: 5 directories were too deep', self.repair('alpha'))
            self.assertIn('alpha: 0 directories', self.repair())
        finally:
            self.ceph.start('mgr.x')
        self.ceph.wait_usable()
        self.process = self.manager.process
        self.manager_empties_the_trash()
