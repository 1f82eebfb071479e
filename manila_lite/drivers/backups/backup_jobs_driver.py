# SPDX-License-Identifier: Apache-2.0
"""The ability to back up, by copies that this host makes."""

import abc

from manila_lite import values
from manila_lite.drivers.backups.backup_jobs import ALL, BackupJobs
from manila_lite.drivers.interface import BacksUp


class BackupJobsDriver(BacksUp):
    """The ability to back up, by ``copies``. The process that runs the backend halts them and clears their leftovers."""

    @property
    @abc.abstractmethod
    def copies(self) -> BackupJobs:
        """The copies to and from backups."""

    def create_backup(self, share: values.Share, backup: values.Backup) -> None:
        """Start the copy, from the beginning if an earlier call started one. It goes on in the background."""
        self.copies.clear(backup.id)
        self.copies.make(share, backup)

    def create_backup_continue(self, share: values.Share, backup: values.Backup) -> values.BackupProgress:
        return self._progress(backup, self.copies.make(share, backup))

    def restore_backup(self, share: values.Share, backup: values.Backup) -> None:
        self.copies.clear(backup.id)
        self.copies.restore(share, backup)

    def restore_backup_continue(self, share: values.Share, backup: values.Backup) -> values.BackupProgress:
        return self._progress(backup, self.copies.restore(share, backup))

    def _progress(self, backup: values.Backup, percent: int) -> values.BackupProgress:
        if percent == ALL:
            self.copies.clear(backup.id)
        return values.BackupProgress(percent)

    def delete_backup(self, backup: values.Backup) -> None:
        self.copies.delete(backup)
