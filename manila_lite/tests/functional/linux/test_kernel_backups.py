# SPDX-License-Identifier: Apache-2.0
"""Backups and migrations with the kernel's own NFS client, in a twin of this machine."""

from manila_lite.tests.functional.linux import twin_case


class KernelNfs(twin_case.InTwin):
    def test_backups_and_moves_work_with_the_kernel_client_and_survive_a_takeover(self):
        # One twin for all: its start and the first imports take minutes of a processor.
        self.succeed('backups', 'backup_takeover', 'moves')
