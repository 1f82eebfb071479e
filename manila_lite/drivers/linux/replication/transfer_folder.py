# SPDX-License-Identifier: Apache-2.0
"""The folder of a migration in a pool, at the source and at the destination. It is named after the migration's id.

At the source ``+SHARE.NUMBER`` is a share as it was in one round of the copy. At the destination each subvolume has its
name of the source until it is known to be complete, and then that name after a ``=``.
"""

import contextlib
import fcntl
import re
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from manila_lite.drivers.linux.pool import btrfs
from manila_lite.host.commands import CommandFailed

_WHOLE, _LOCK = '=', 'lock'
_TAKEN = re.compile(r'\+(?P<share>.+)\.(?P<number>\d+)')
#: Seconds that a stream whose other end died gets to end, and the pause between two tries.
_PATIENCE, _PAUSE = 30.0, 0.05


def taken(share: str, number: int) -> str:
    """Return the name of a share's snapshot for one round."""
    return f'+{share}.{number}'


def number_of(share: str, name: str) -> int:
    """Return the number of the round in a name; 0 if the name is not of a round of this share."""
    match = _TAKEN.fullmatch(name)
    return int(match['number']) if match and match['share'] == share else 0


class Folder:
    """The folder of one migration in one pool."""

    def __init__(self, root: Path, migration: str):
        self.path = root / 'moving' / migration

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def names(self) -> set[str]:
        return {path.name for path in self.path.iterdir() if path.is_dir()} if self.path.exists() else set()

    def drop(self, names: Iterable[str]) -> None:
        """Delete these subvolumes.

        :raises OSError: one of them is being sent.
        """
        for name in names:
            btrfs.delete(self.path / name)

    def clear(self) -> None:
        """Delete the folder with everything in it. A stream that still reads from it was ended before.

        :raises OSError: it did not end.
        """
        end = time.monotonic() + _PATIENCE
        while self.path.exists():
            try:
                self.drop(self.names())
                (self.path / _LOCK).unlink(missing_ok=True)
                self.path.rmdir()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)


class Received(Folder):
    """The received subvolumes of a migration, complete and incomplete."""

    def whole(self) -> set[str]:
        """Return the names, as at the source, of all complete subvolumes."""
        return {name.removeprefix(_WHOLE) for name in self.names() if name.startswith(_WHOLE)}

    def at(self, name: str) -> Path:
        """Return the path of a complete subvolume."""
        return self.path / f'{_WHOLE}{name}'

    def settle(self, *, ended_well: bool) -> None:
        """Rename the complete subvolumes, and delete the incomplete ones. To be called while holding ``exclusive``.

        Subvolumes come in sequence, so all but the last are complete, and the last one is if its stream ended well.
        """
        fresh = sorted(
            (self.path / name for name in self.names() if not name.startswith(_WHOLE)), key=btrfs.subvolume_id
        )
        for position, path in enumerate(fresh, 1):
            if btrfs.is_read_only(path) and (ended_well or position < len(fresh)):
                # In the same folder, since a read-only subvolume cannot be moved to another.
                path.rename(path.with_name(f'{_WHOLE}{path.name}'))
            else:
                btrfs.delete(path)

    def forget(self, names: Collection[str]) -> None:
        """Delete these complete subvolumes."""
        self.drop(f'{_WHOLE}{name}' for name in names)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[int]:
        """Keep all others from receiving. Yields the lock's descriptor for receiving processes to inherit, as they may
        live longer.

        :raises CommandFailed: a process that an earlier share manager started still receives.
        """
        self.make()
        end = time.monotonic() + _PATIENCE
        with (self.path / _LOCK).open('a') as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise CommandFailed(f'{self.path}: another process receives into it') from None
                    time.sleep(_PAUSE)
            yield lock.fileno()
