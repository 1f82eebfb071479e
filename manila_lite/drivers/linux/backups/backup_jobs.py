# SPDX-License-Identifier: Apache-2.0
"""The backup copies of one backend: their start, progress, retries and removal.

The export for backups is mounted for each copy separately, at its own mount point. A backup is a directory in it, named
after the backup's id.
"""

import abc
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.backups import rsync
from manila_lite.drivers.linux.ids import SAFE_ID, vet_id
from manila_lite.drivers.linux.pool import trees
from manila_lite.drivers.linux.pool.base import GIB
from manila_lite.host import mounts
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)

#: The percentage of a complete copy.
ALL = 100
#: Number of failures after which a copy is given up.
_TRIES = 5
_LOCKS = 64
#: The message for the user, by the error that ended the copy. ``keeper``: the target of the copy, in words.
_WHY = (
    (rsync.CannotKeepAll, 'Files have ACLs or extended attributes that {keeper} cannot keep.'),
    (rsync.TooDeep, 'Directories are nested too deeply to be copied, about 1000 levels, or have too long a path.'),
    (rsync.TooMuch, 'The apparent size of the files is more than {ratio:g} times the share (backup_apparent_ratio).'),
    (rsync.NoRoom, 'There is not enough space for all files: {keeper} is full.'))


class BackupJobs(abc.ABC):
    """Copies of shares to and from backups. ``state`` is the backend's own directory, by its real path."""

    def __init__(self, state: Path):
        self.folder = state / 'backups'
        self._running: dict[str, rsync.Copy] = {}
        self._failed: dict[str, int] = {}
        self._locks = tuple(threading.RLock() for _ in range(_LOCKS))
        self._halted = False

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
        """Remove everything that ``readable`` and ``writable`` made for this backup, except a mount at ``share_place``."""

    def share_place(self, backup_id: str) -> Path:
        """Return the path at which a share may be mounted for a copy to or from this backup."""
        return self.folder / f'{backup_id}.share'

    def kept(self) -> frozenset[str]:
        """Return the ids of the backups for which ``release`` has anything to remove."""
        return frozenset()

    def left(self) -> frozenset[str]:
        """Return the ids of the backups with a running copy or leftovers on this backend."""
        return frozenset(self._running) | names_in(self.folder) | self.kept()

    # Copying ----------------------------------------------------------------------------------

    def make(self, share: values.Share, backup: values.Backup) -> int:
        """Start or continue the copy of the share to the backup. Returns the progress in percent."""
        def begin() -> rsync.Copy:
            return rsync.Copy(self.readable(share, backup), self._place(backup, make=True), rsync.SAME,
                              at_most=_at_most(share, backup))
        return self._poll(backup, begin, f'the export for backups of type {backup.type.name}')

    def restore(self, share: values.Share, backup: values.Backup) -> int:
        """Start or continue the copy of the backup to the share. Returns the progress in percent."""
        def begin() -> rsync.Copy:
            how = (rsync.SAME_CONTENT, *((rsync.IN_PLACE,) if self.in_place else ()))
            return rsync.Copy(self._place(backup), self.writable(share, backup), *how, untangle=True,
                              at_most=_at_most(share, backup))
        percent = self._poll(backup, begin, 'the share, as it is mounted for the copy,')
        if percent == ALL:
            with self._exclusive(backup.id):
                self.land(share, backup)
        return percent

    def is_copying(self, backup: values.Backup) -> bool:
        """Say whether a copy to or from the backup runs in this process, or has just succeeded."""
        copy = self._running.get(backup.id)
        return copy is not None and (copy.is_alive() or copy.error is None)

    def clear(self, backup_id: str) -> None:
        """Stop any copy to or from the backup and remove its leftovers, so that the next copy is of a later moment.

        :raises CommandFailed: the copy does not stop.
        """
        vet_id(backup_id)
        with self._exclusive(backup_id):
            self._release(backup_id)
            self._failed.pop(backup_id, None)

    def halt(self) -> None:
        """Stop all copies in this process; none begins until ``resume``. Their leftovers stay for the process that
        continues.
        """
        self._halted = True
        for backup_id in list(self._running):
            try:
                with self._exclusive(backup_id):
                    self._stop(backup_id)
            except CommandFailed:
                LOG.exception('The copy of backup %s', backup_id)

    def resume(self) -> None:
        """Let copies begin again."""
        self._halted = False

    def delete(self, backup: values.Backup) -> None:
        """Stop any copy, and delete the backup from the export and its leftovers from the backend."""
        with self._exclusive(backup.id):
            self.clear(backup.id)
            place = self._mount(backup) / backup.id
            trees.remove(place)
            self.clear(backup.id)

    def _release(self, backup_id: str) -> None:
        self._stop(backup_id)
        self.unmount(self.folder / backup_id)
        self.unmount(self.share_place(backup_id))
        self.release(backup_id)

    def _stop(self, backup_id: str) -> None:
        if copy := self._running.get(backup_id):
            copy.stop()
            del self._running[backup_id]

    @contextlib.contextmanager
    def _exclusive(self, backup_id: str) -> Iterator[None]:
        """Keep other threads from starting, stopping or clearing a copy to or from the backup."""
        with self._locks[hash(backup_id) % _LOCKS]:
            yield

    # Pieces -----------------------------------------------------------------------------------

    def _poll(self, backup: values.Backup, begin: Callable[[], rsync.Copy], keeper: str) -> int:
        """Return the progress of the copy. Starts it, or starts it again after a failure. ``keeper``: its target, in
        words.

        :raises errors.Final: it failed too often, or would fail each time.
        """
        vet_id(backup.id)
        with self._exclusive(backup.id):
            copy = self._running.get(backup.id)
            if copy is not None and copy.is_alive():
                copy.polled_at = time.monotonic()
                return copy.percent
            if copy is not None and copy.error is None:
                return ALL
            if copy is not None:
                self._vet(backup, copy.error, keeper)
            self._begin(backup, begin)
        return 0

    def _begin(self, backup: values.Backup, begin: Callable[[], rsync.Copy]) -> None:
        try:
            self._running[backup.id] = begin()
        except Exception:
            # The count of failures is kept, so ``clear`` is not called.
            self._release(backup.id)
            raise
        if self._halted:
            self._stop(backup.id)
            raise CommandFailed('another process works at the backend now')

    def _vet(self, backup: values.Backup, bad: Exception | None, keeper: str) -> None:
        times = self._failed[backup.id] = self._failed.get(backup.id, 0) + 1
        LOG.warning('The copy of backup %s broke (%d times): %s', backup.id, times, bad)
        if times < _TRIES and not isinstance(bad, rsync.Hopeless):
            return
        self.clear(backup.id)
        why = next((why for kind, why in _WHY if isinstance(bad, kind)),
                   'The copy broke {times} times. The log of the share manager says why.')
        raise errors.Final(why.format(keeper=keeper, ratio=backup.type.apparent_ratio, times=times))

    def _mount(self, backup: values.Backup) -> Path:
        """Mount the export for backups of this type, for this backup. Returns the mount point.

        :raises errors.Final: the operator configured no export for the type.
        """
        kind, place = backup.type, self.folder / backup.id
        if not kind.export:
            raise errors.Final(f'The type of backup {kind.name} has no backup_mount_export.')
        self.mount(kind.export, place, kind.proto, kind.options)
        return place

    @staticmethod
    def mount(export: str, place: Path, proto: str, options: str) -> None:
        """Mount the export, after an unmount: an old mount may be of a dead server or of another export.

        :raises CommandFailed: the mount failed; with mount's message, but without the options, which may hold secrets.
        """
        words = ('-o', options) if options else ()
        mounts.unmount(place)
        try:
            mounts.mount(export, place, '-t', proto, *words)
        except CommandFailed as bad:
            raise CommandFailed(str(bad).replace(options, '***') if options else str(bad)) from None

    @staticmethod
    def unmount(place: Path) -> None:
        """Unmount the path, and remove its directory."""
        mounts.unmount(place)
        with contextlib.suppress(OSError):
            place.rmdir()

    def _place(self, backup: values.Backup, *, make: bool = False) -> Path:
        """Return the directory of the backup.

        :raises errors.Final: it is missing, and ``make`` is false.
        """
        place = self._mount(backup) / backup.id
        if make:
            place.mkdir(exist_ok=True)
        elif not place.is_dir():
            raise errors.Final(f'Backup {backup.id} is missing from the export of backups of type {backup.type.name}.')
        return place


def _at_most(share: values.Share, backup: values.Backup) -> int | None:
    """Return the limit for the sum of the apparent file sizes in bytes, or None for no limit."""
    return int(backup.type.apparent_ratio * max(share.size, 1) * GIB) or None


def names_in(folder: Path) -> frozenset[str]:
    """Return the ids of the backups that the entries of a folder are named after."""
    with contextlib.suppress(OSError):
        return frozenset(filter(SAFE_ID.fullmatch, (name.partition('.')[0] for name in os.listdir(folder))))
    return frozenset()
