# SPDX-License-Identifier: Apache-2.0
"""Backups of this backend's shares: rsync copies files between the pool and an export of the operator's.

The export is mounted for each copy, at a place of its own. A backup is a directory in it that is called like the backup's
id. What is copied to it is a snapshot, so it is of one moment; a plain directory has none, and is copied as it is.
"""

import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from oslo_log import log

from manila_lite import errors, kinds
from manila_lite.drivers.interface import BacksUp
from manila_lite.drivers.linux import btrfs, mounts
from manila_lite.drivers.linux.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.left import vet_id
from manila_lite.drivers.linux.pool import Pool
from manila_lite.drivers.linux.run import ENV, CommandFailed

LOG = log.getLogger(__name__)

_ALL = 100
#: How often a copy is begun again that broke.
_TRIES = 5
#: Seconds that a copy which was told to end has for that; and after which one ends that nobody looks at any more.
_PATIENCE, _FORGOTTEN = 60.0, 900.0
#: Everything of every file. In its place, since the share may have no room for a second one; what is to go goes first, for
#: the same reason. Told by setpriv to end with this process.
_RSYNC = ('setpriv', '--pdeathsig', 'KILL', 'rsync', '--archive', '--hard-links', '--acls', '--xattrs', '--numeric-ids',
          '--sparse', '--inplace', '--delete-before', '--info=progress2', '--no-inc-recursive', '--outbuf=L')
#: Which files are the same already: of a backup that was begun before, by size and the whole time; in a share, by content.
_SAME, _SAME_CONTENT = '--modify-window=-1', '--checksum'
_WORKED, _VANISHED = 0, 24
_SAID = 1000


class Copy(threading.Thread):
    """One copy of all that is in a directory to another one, which then holds nothing else."""

    def __init__(self, source: Path, target: Path, same: str):
        super().__init__(daemon=True, name='backup')
        self._words = (*_RSYNC, same, '--', f'{source}/', f'{target}/')
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self.percent = 0
        self.looked_at = time.monotonic()
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self._copy()
        except Exception as bad:
            self.error = bad

    def _copy(self) -> None:
        # The process dies with the thread that began it: this one, which waits for it.
        with self._lock:
            if self._stopped:
                raise CommandFailed('the copy was stopped')
            self._process = subprocess.Popen(self._words, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                             stderr=subprocess.STDOUT)
        said = b''
        with self._process as process:
            assert process.stdout is not None
            while piece := process.stdout.read1(1 << 16):
                said = (said + piece)[-_SAID:]
                self.percent = max(self.percent, _percent(piece))
                if time.monotonic() > self.looked_at + _FORGOTTEN:
                    process.kill()
        # Of a plain directory, files may go while it is copied.
        if process.returncode not in (_WORKED, _VANISHED):
            raise CommandFailed(f'rsync: {_last_words(said)} (exit status {process.returncode})')

    def stop(self) -> None:
        """It does not go on.

        :raises CommandFailed: it does.
        """
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
        self.join(_PATIENCE)
        if self.is_alive():
            raise CommandFailed('a copy does not stop')


def _percent(piece: bytes) -> int:
    """Return the last percentage in what rsync said, below 100: that is for the end alone."""
    found = [int(word[:-1]) for word in piece.split() if word.endswith(b'%') and word[:-1].isdigit()]
    return min(found[-1], _ALL - 1) if found else 0


def _last_words(said: bytes) -> str:
    lines = [line.strip() for line in said.decode(errors='replace').replace('\r', '\n').split('\n')]
    return '; '.join([line for line in lines if line.startswith('rsync')][-2:]) or 'it failed'


class Backups:
    """The copies of one backend. ``need`` raises ``errors.Final`` for a share that is not in the pool."""

    def __init__(self, pool: Pool, state: Path, need: Callable[[kinds.Share], None]):
        self._pool = pool
        self._folder = state / 'backups'
        self._need = need
        self._copies: dict[str, Copy] = {}
        self._failed: dict[str, int] = {}

    # Making one -------------------------------------------------------------------------------

    def make(self, share: kinds.Share, backup: kinds.Backup) -> int:
        """The share is being copied as it was when the copy began. Returns how far that is."""
        def begin() -> Copy:
            self._need(share)
            return Copy(self._moment(share, backup), self._place(backup, make=True), _SAME)
        return self._look(backup, begin)

    def forget(self, backup: kinds.Backup) -> None:
        """No copy to or from the backup runs, and what it was from is not kept: the next is of a later moment.

        :raises CommandFailed: it does not stop.
        """
        vet_id(backup.id)
        if copy := self._copies.get(backup.id):
            copy.stop()
        self.end(backup)

    def _moment(self, share: kinds.Share, backup: kinds.Backup) -> Path:
        """Return the share as it was when the copy began."""
        source = self._pool.share(share.id)
        if not isinstance(self._pool, BtrfsPool):
            return source
        taken = self._taken(backup)
        if not taken.exists():
            taken.parent.mkdir(exist_ok=True)
            btrfs.snapshot(source, taken, read_only=True)
        return taken

    def _taken(self, backup: kinds.Backup) -> Path:
        return self._pool.root / 'backups' / backup.id

    # The way back -----------------------------------------------------------------------------

    def restore(self, share: kinds.Share, backup: kinds.Backup) -> int:
        """The share is being made what the backup is. Returns how far that is."""
        def begin() -> Copy:
            self._need(share)
            return Copy(self._place(backup), self._pool.share(share.id), _SAME_CONTENT)
        return self._look(backup, begin)

    # Going ------------------------------------------------------------------------------------

    def delete(self, backup: kinds.Backup) -> None:
        """No copy runs, and neither the pool nor the export has anything of it."""
        self.forget(backup)
        place = self._mount(backup) / backup.id
        if place.exists():
            shutil.rmtree(place)
        self.end(backup)

    def end(self, backup: kinds.Backup) -> None:
        """Nothing is left here of a copy that has ended."""
        place = self._mount_point(backup)
        mounts.unmount(place)
        with contextlib.suppress(OSError):
            place.rmdir()
        if isinstance(self._pool, BtrfsPool):
            btrfs.sync(self._pool.root)
            btrfs.delete(self._taken(backup))
        self._copies.pop(backup.id, None)
        self._failed.pop(backup.id, None)

    # Pieces -----------------------------------------------------------------------------------

    def _look(self, backup: kinds.Backup, begin: Callable[[], Copy]) -> int:
        """Return how far the copy is, which begins now, or once more if it broke.

        :raises errors.Final: it broke too often.
        """
        vet_id(backup.id)
        copy = self._copies.get(backup.id)
        if copy is not None and copy.is_alive():
            copy.looked_at = time.monotonic()
            return copy.percent
        if copy is not None and copy.error is None:
            return _ALL
        if copy is not None:
            self._vet(backup, copy.error)
        try:
            self._copies[backup.id] = begin()
        except Exception:
            self.end(backup)
            raise
        return 0

    def _vet(self, backup: kinds.Backup, bad: Exception | None) -> None:
        times = self._failed[backup.id] = self._failed.get(backup.id, 0) + 1
        LOG.warning('The copy of backup %s broke (%d times): %s', backup.id, times, bad)
        if times >= _TRIES:
            self.end(backup)
            raise errors.Final(f'The copy broke {times} times. The log of the share manager says why.')

    def _mount_point(self, backup: kinds.Backup) -> Path:
        return self._folder / backup.id

    def _mount(self, backup: kinds.Backup) -> Path:
        """Return where the export for backups of this type is mounted, for this one.

        :raises errors.Final: the operator named none.
        """
        kind, place = backup.type, self._mount_point(backup)
        if not kind.export:
            raise errors.Final(f'The type of backup {kind.name} has no backup_mount_export.')
        options = ('-o', kind.options) if kind.options else ()
        mounts.mount(kind.export, place, '-t', kind.proto, *options)
        return place

    def _place(self, backup: kinds.Backup, *, make: bool = False) -> Path:
        """Return where the backup is.

        :raises errors.Final: it is not there, and is not to be made.
        """
        place = self._mount(backup) / backup.id
        if make:
            place.mkdir(exist_ok=True)
        elif not place.is_dir():
            raise errors.Final(f'Backup {backup.id} is not where backups of type {backup.type.name} are.')
        return place


class LinuxBackups(BacksUp):
    """The part of the driver that backs shares up."""

    _backups: Backups

    def create_backup(self, share: kinds.Share, backup: kinds.Backup) -> None:
        """The copy goes on by itself. What an earlier call began is begun anew."""
        self._backups.forget(backup)
        self._backups.make(share, backup)

    def create_backup_continue(self, share: kinds.Share, backup: kinds.Backup) -> kinds.BackupProgress:
        """The copy goes on, or is complete, and what was needed for it is gone."""
        return self._looked_at(backup, self._backups.make(share, backup))

    def restore_backup(self, share: kinds.Share, backup: kinds.Backup) -> None:
        """The copy goes on by itself. What an earlier call began is begun anew."""
        self._backups.forget(backup)
        self._backups.restore(share, backup)

    def restore_backup_continue(self, share: kinds.Share, backup: kinds.Backup) -> kinds.BackupProgress:
        """The copy goes on, or is complete, and what was needed for it is gone."""
        return self._looked_at(backup, self._backups.restore(share, backup))

    def _looked_at(self, backup: kinds.Backup, percent: int) -> kinds.BackupProgress:
        if percent == _ALL:
            self._backups.end(backup)
        return kinds.BackupProgress(percent)

    def delete_backup(self, backup: kinds.Backup) -> None:
        """No copy runs, and neither the pool nor the export has anything of it."""
        self._backups.delete(backup)
