# SPDX-License-Identifier: Apache-2.0
"""The ability to copy what shares hold to another place, and back. Source: Manila API 2.80."""

import abc

from manila_lite import kinds


class BacksUp(abc.ABC):
    """Backups: copies in a place that has nothing to do with the backend, so that they outlive it.

    A copy goes on by itself between calls; what a death stops begins again at the next look, and goes on behind what is
    there already. Clients keep their access to the share all the while; what they write meanwhile may or may not be in
    a backup, and is lost in a restore.
    """

    @abc.abstractmethod
    def create_backup(self, share: kinds.Share, backup: kinds.Backup) -> None:
        """The copy of the share to the backup has begun. Returns at once.

        :raises errors.Final: it cannot.
        """

    @abc.abstractmethod
    def create_backup_continue(self, share: kinds.Share, backup: kinds.Backup) -> kinds.BackupProgress:
        """Return how much is there; at 100 percent all is, as it was at a moment after the beginning. Called again and again.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def restore_backup(self, share: kinds.Share, backup: kinds.Backup) -> None:
        """The copy of the backup, of whichever share and made by whichever backend, to the share has begun. Returns at once.

        :raises errors.Final: it cannot.
        """

    @abc.abstractmethod
    def restore_backup_continue(self, share: kinds.Share, backup: kinds.Backup) -> kinds.BackupProgress:
        """Return how much is there; at 100 percent the share holds exactly what the backup holds.

        :raises errors.Final: the copy failed for good.
        """

    @abc.abstractmethod
    def delete_backup(self, backup: kinds.Backup) -> None:
        """No copy to or from the backup runs here, and it is gone. One that is not there is a success."""
