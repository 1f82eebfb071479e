# SPDX-License-Identifier: Apache-2.0
"""Shares that clients use meanwhile are backed up and restored: plain directories, and shares mounted for the copy."""

import os

from manila_lite.host_copy import rsync
from manila_lite.tests.functional.linux import cifs_base, copying
from manila_lite.tests.security import copies_base, tenant


@cifs_base.needs_samba
class Plain(cifs_base.Directory, copies_base.Backups):
    """Clients work in the tree that is read and written."""

    # The same as over NFS.
    test_backup_of_a_huge_sparse_file_fails_without_filling_the_disk = None
    test_backup_of_ten_thousand_nested_directories_fails_and_leaves_nothing = None


class OverNfs(copies_base.Backups):
    # It takes long, and is tested above.
    test_backup_of_ten_thousand_nested_directories_fails_and_leaves_nothing = None

    def setUp(self):
        super().setUp()
        self.copies = copying.MountedCopies(self.folder, self.at)

    def test_backup_ends_when_a_file_becomes_a_pipe(self):
        place = self.at(self.mine)
        for number in range(200):
            (place / f'f{number}').write_text('x' * 1000)
        os.mkfifo(place / 'pipe')
        backup = self.backup()
        self.patch(rsync, '_STILL', 0.5)  # seconds, in place of ten minutes
        with tenant.swapping(place / 'f199', place / 'pipe'):
            for _ in range(copies_base.ROUNDS):
                self.assertRegex(self.ends('create', self.mine, backup), copies_base.BROKEN)
