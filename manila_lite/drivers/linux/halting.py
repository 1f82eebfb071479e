# SPDX-License-Identifier: Apache-2.0
"""A share server that moved away is halted: nobody starts it again, whoever looks, until it is torn down.

A note in its folder says so, and to which migration it went. Whoever starts an NFS server looks at it under a lock
that is good between processes: the one that halts a server is not the share manager that runs it. A migration that
failed for good is taken back by hand: ``manila-linux-peer`` with the verb ``resume`` drops the note.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

_NOTE, _LOCK = 'halted.json', 'life.lock'


@contextlib.contextmanager
def alone(home: Path) -> Iterator[None]:
    """Nobody else, thread or process, halts or starts this server. The kernel lets go when the process dies."""
    with (home / _LOCK).open('a') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def by(home: Path) -> str:
    """Return the migration that the server went away with; '' of one that did not."""
    try:
        return str(json.loads((home / _NOTE).read_text())['migration'])
    except FileNotFoundError:
        return ''


def note(home: Path, migration: str) -> None:
    """The server has gone away, also after a loss of power. To be called ``alone``."""
    draft = home / f'{_NOTE}.new'
    with draft.open('w') as file:
        json.dump({'migration': migration}, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, home / _NOTE)
    folder = os.open(home, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def drop(home: Path) -> None:
    """The server may run again."""
    (home / _NOTE).unlink(missing_ok=True)
