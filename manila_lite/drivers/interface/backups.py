# SPDX-License-Identifier: Apache-2.0
"""The ability to copy the data of shares to another place, and back. Source: Manila API 2.80."""

import abc

from manila_lite import values


class BacksUp(abc.ABC):
    """Backups: copies in a place that is independent of the backend, so that they outlive it.

    A copy goes on in the background between calls. If the process dies, the next ``continue`` call starts the copy
    again, and it skips data that is there already. Clients keep their access to the share during a copy. Data that they
    write meanwhile may or may not be in a backup, and is lost in a restore.
    """

    @abc.abstractmethod
    def create_backup(self, share: values.Share, backup: values.Backup) -> None:
        """Start the copy of the share to the backup, and return at once.

        :raises errors.Final: the copy cannot be started.
        """

    @abc.abstractmethod
    def create_backup_continue(self, share: values.Share, backup: values.Backup) -> values.BackupProgress:
        """Return the progress of the copy. Called again and again.

        At 100 percent the backup is complete: it shows the share as it was at a moment after the beginning.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def restore_backup(self, share: values.Share, backup: values.Backup) -> None:
        """Start the copy of the backup to the share, and return at once.

        The backup may be of any share, and made by any backend.

        :raises errors.Final: the copy cannot be started.
        """

    @abc.abstractmethod
    def restore_backup_continue(self, share: values.Share, backup: values.Backup) -> values.BackupProgress:
        """Return the progress of the copy. At 100 percent the share holds exactly the data of the backup.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def delete_backup(self, backup: values.Backup) -> None:
        """Stop any copy to or from the backup, and delete it. A missing backup counts as success."""
