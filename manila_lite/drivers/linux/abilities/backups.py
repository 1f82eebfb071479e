# SPDX-License-Identifier: Apache-2.0
"""The calls for backups: ``BackupJobsDriver`` answers them with the copies of shares of the pool."""

from manila_lite.drivers.backups.backup_jobs import BackupJobs
from manila_lite.drivers.backups.backup_jobs_driver import BackupJobsDriver
from manila_lite.drivers.linux.abilities.base import ComposedDriver


class LinuxBackups(ComposedDriver, BackupJobsDriver):
    """The calls of ``BacksUp``."""

    @property
    def copies(self) -> BackupJobs:
        """The copies to and from backups."""
        return self.services.backups
