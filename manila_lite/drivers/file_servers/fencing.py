# SPDX-License-Identifier: Apache-2.0
"""Halting of a share server that moved away: no process starts it again until it is torn down.

A note in its folder says so, and names the migration. Every start of a file server checks the note under a lock between
processes, because the process that halts a server is not the share manager that runs it. A migration that failed for
good is undone by hand: the verb ``resume`` of ``manila-linux-peer`` deletes the note.
"""

import contextlib
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path

from manila_lite.host import durable

_NOTE, _LOCK = 'halted.json', 'life.lock'


@contextlib.contextmanager
def exclusive(home: Path) -> Iterator[None]:
    """Keep other threads and processes from halting or starting this server. The kernel drops the lock when the process
    dies.
    """
    with (home / _LOCK).open('a') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def by(home: Path) -> str:
    """Return the migration that took the server away, or ''."""
    said = durable.text(home / _NOTE)
    return str(json.loads(said)['migration']) if said else ''


def note(home: Path, migration: str) -> None:
    """Write the note that the server moved away, so that it survives a loss of power. To be called while holding
    ``exclusive``.
    """
    durable.replace(home / _NOTE, json.dumps({'migration': migration}))


def drop(home: Path) -> None:
    """Delete the note, so that the server may run again."""
    (home / _NOTE).unlink(missing_ok=True)
