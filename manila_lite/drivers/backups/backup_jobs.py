# SPDX-License-Identifier: Apache-2.0
"""The backup copies of one backend: their start, progress, retries and removal.

The export for backups is mounted for each copy separately, at its own mount point. A backup is a directory in it, named
after the backup's id.
"""

import abc
from collections.abc import Callable
from pathlib import Path

from manila_lite import errors, values
from manila_lite.host import durable, trees
from manila_lite.host_copy import copies, rsync

#: The percentage of a complete copy.
ALL = 100
_UNKNOWN = 'The copy broke {times} times. The log of the share manager says why.'


class BackupJobs(copies.Copies, abc.ABC):
    """Copies of shares to and from backups. ``state`` is the backend's own directory, by its real path."""

    what = 'backup'

    def __init__(self, state_dir: Path):
        super().__init__(state_dir / 'backups')

    # Paths of the share -----------------------------------------------------------------------

    @abc.abstractmethod
    def readable(self, share: values.Share, backup: values.Backup) -> Path:
        """Return a path where the share can be read: the same at each call until ``release``.

        :raises errors.Final: there is no such share.
        """

    @abc.abstractmethod
    def writable(self, share: values.Share, backup: values.Backup) -> Path:
        """Return a path to which the restored data can be written: the same at each call until ``release``.

        :raises errors.Final: there is no such share.
        """

    #: Whether ``writable`` returns the share itself, which clients reach.
    in_place = True

    def land(self, share: values.Share, backup: values.Backup) -> None:
        """Make the restored data the share. May be called again.

        :raises errors.Final: the data cannot become the share.
        """

    def release(self, backup_id: str) -> None:
        """Remove all that ``readable`` and ``writable`` made for this backup, except a mount at ``share_mount_point``."""

    def share_mount_point(self, backup_id: str) -> Path:
        """Return the path at which a share may be mounted for a copy to or from this backup."""
        return self.folder / f'{backup_id}.share'

    def mount_points(self, copy_id: str) -> tuple[Path, ...]:
        return self.folder / copy_id, self.share_mount_point(copy_id)

    # Copying ----------------------------------------------------------------------------------

    def make(self, share: values.Share, backup: values.Backup) -> int:
        """Start or continue the copy of the share to the backup. Returns the progress in percent."""

        def begin() -> rsync.Copy:
            return rsync.Copy(
                self.readable(share, backup),
                self._folder_of(backup, make=True),
                rsync.SAME,
                at_most=rsync.apparent(share.size, backup.type.apparent_ratio),
            )

        return self._poll(backup, begin, f'the export for backups of type {backup.type.name}')

    def restore(self, share: values.Share, backup: values.Backup) -> int:
        """Start or continue the copy of the backup to the share. Returns the progress in percent."""

        def begin() -> rsync.Copy:
            return rsync.Copy(
                self._folder_of(backup),
                self.writable(share, backup),
                *self._way_to_restore(backup.id),
                untangle=True,
                at_most=rsync.apparent(share.size, backup.type.apparent_ratio),
            )

        percent = self._poll(backup, begin, 'the share, as it is mounted for the copy,')
        if percent == ALL:
            with self._exclusive(backup.id):
                self.land(share, backup)
        return percent

    def is_copying(self, backup: values.Backup) -> bool:
        """Say whether a copy to or from the backup runs in this process, or has just succeeded."""
        return self.is_running(backup.id)

    def delete(self, backup: values.Backup) -> None:
        """Stop any copy, and delete the backup from the export and its leftovers from the backend."""
        with self._exclusive(backup.id):
            self.clear(backup.id)
            path = self._mount(backup) / backup.id
            trees.remove(path)
            self.clear(backup.id)

    # Pieces -----------------------------------------------------------------------------------

    def _way_to_restore(self, backup_id: str) -> tuple[str, ...]:
        """Return how rsync has to treat the files that are there."""
        if not self.in_place:
            return (rsync.SAME_CONTENT,)
        # The file system has to read a block of which a part is written, and a damaged disk is why people restore.
        return rsync.ANEW if self.met_bad_disk(backup_id) else rsync.IN_PLACE

    def _poll(self, backup: values.Backup, begin: Callable[[], rsync.Copy], keeper: str) -> int:
        """Return the progress of the copy, which is complete once it is on disk. Starts it, or starts it again after a failure.
        ``keeper``: its target, in words.

        :raises errors.Final: it failed too often, or would fail each time.
        """

        def explain(copy: rsync.Copy, times: int) -> str:
            return copies.explained(
                copy,
                'The copy broke {times} times.' if copy.messages.failed else _UNKNOWN,
                keeper=keeper,
                times=times,
                ratio=backup.type.apparent_ratio,
                option='backup_apparent_ratio',
            )

        copy = self.poll(backup.id, begin, explain)
        if not copy.is_complete:
            return copy.messages.percent
        durable.write_out(copy.target)
        return ALL

    def _mount(self, backup: values.Backup) -> Path:
        """Mount the export for backups of this type, for this backup. Returns the mount point.

        :raises errors.Final: the operator configured no export for the type.
        """
        kind, path = backup.type, self.folder / backup.id
        if not kind.export:
            raise errors.Final(f'The type of backup {kind.name} has no backup_mount_export.')
        self.mount(kind.export, path, kind.proto, kind.options)
        return path

    def _folder_of(self, backup: values.Backup, *, make: bool = False) -> Path:
        """Return the directory of the backup.

        :raises errors.Final: it is missing, and ``make`` is false.
        """
        path = self._mount(backup) / backup.id
        if make:
            path.mkdir(exist_ok=True)
        elif not path.is_dir():
            raise errors.Final(
                f'Backup {backup.id} is missing from the export of backups of type {backup.type.name}.'
            )
        return path
