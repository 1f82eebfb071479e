# SPDX-License-Identifier: Apache-2.0
"""Where a pool keeps what a migration takes there, and what one brings: a folder with the migration's id.

At the source ``+SHARE.NUMBER`` is a share as it was in one round of the copy. At the destination everything has the
name it had at the source until it is known to be whole, then that name behind a ``=``.
"""

import contextlib
import fcntl
import re
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from manila_lite.drivers.linux import btrfs
from manila_lite.drivers.linux.run import CommandFailed

_WHOLE, _LOCK = '=', 'lock'
_TAKEN = re.compile(r'\+(?P<share>.+)\.(?P<number>\d+)')
#: How long a stream is given to end whose other end died.
_PATIENCE, _PAUSE = 30.0, 0.05


def taken(share: str, number: int) -> str:
    """Return the name of a share as it is in one round."""
    return f'+{share}.{number}'


def number_of(share: str, name: str) -> int:
    """Return the round that a name is of; 0 if it is of another share, or none of a share."""
    found = _TAKEN.fullmatch(name)
    return int(found['number']) if found and found['share'] == share else 0


class Folder:
    """The folder of one migration in one pool."""

    def __init__(self, root: Path, migration: str):
        self.path = root / 'moving' / migration

    def make(self) -> None:
        """The folder is there."""
        self.path.mkdir(parents=True, exist_ok=True)

    def names(self) -> set[str]:
        """Return the names of all subvolumes in it."""
        return {place.name for place in self.path.iterdir() if place.is_dir()} if self.path.exists() else set()

    def drop(self, names: Iterable[str]) -> None:
        """These are gone.

        :raises OSError: one is being sent.
        """
        for name in names:
            btrfs.delete(self.path / name)

    def clear(self) -> None:
        """The folder is gone, with everything in it. A stream that still reads from it has been told to end.

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
    """What came over, and what of it is whole."""

    def whole(self) -> set[str]:
        """Return the names that whole copies had at the source."""
        return {name.removeprefix(_WHOLE) for name in self.names() if name.startswith(_WHOLE)}

    def at(self, name: str) -> Path:
        """Return where a whole copy is."""
        return self.path / f'{_WHOLE}{name}'

    def settle(self, *, ended_well: bool) -> None:
        """Whole copies are known as such, and there are no others. To be called ``alone``.

        Streams come one behind the other, so all but the last are whole, and that one if its stream ended well.
        """
        fresh = sorted((self.path / name for name in self.names() if not name.startswith(_WHOLE)), key=btrfs.subvolume_id)
        for position, place in enumerate(fresh, 1):
            if btrfs.is_read_only(place) and (ended_well or position < len(fresh)):
                # In the same folder: what is read-only cannot be moved to another.
                place.rename(place.with_name(f'{_WHOLE}{place.name}'))
            else:
                btrfs.delete(place)

    def forget(self, names: Collection[str]) -> None:
        """These whole copies are gone."""
        self.drop(f'{_WHOLE}{name}' for name in names)

    @contextlib.contextmanager
    def alone(self) -> Iterator[int]:
        """Nobody else receives. Gives the lock, which a process that receives is to inherit: it may live longer.

        :raises CommandFailed: what an earlier share manager began to receive does not end.
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
                        raise CommandFailed(f'{self.path}: somebody else receives') from None
                    time.sleep(_PAUSE)
            yield lock.fileno()
