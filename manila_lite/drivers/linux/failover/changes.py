# SPDX-License-Identifier: Apache-2.0
"""Changes of share servers on a shared pool: none begins, and none is under way, once the guard has let go of the pool.

A share manager that hangs may go on at any time, in the middle of making a namespace, an address, a mount or a server. So it
makes each of them in a *change*: it holds a lock, shared, and first checks that the guard which it knows still serves. Its
commands inherit the lock. A guard that lets go first says so, in its files, and then takes the lock for itself: when it has
it, all changes have ended, and no other one can begin. It kills those that do not end soon.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from typing import Self

from manila_lite.drivers.linux.failover.task import Files
from manila_lite.host import commands
from manila_lite.host.commands import CommandFailed
from manila_lite.host.descriptors import opened

#: How the lock is opened: also on a disk that has become read-only.
_FLAGS = os.O_RDONLY | os.O_CREAT


@contextlib.contextmanager
def change(files: Files, serving: str) -> Iterator[None]:
    """Change something in this context, unless the guard lets go or has done so. ``serving`` names the guard: see ``Files``.

    :raises CommandFailed: this host may not serve any more.
    """
    _must_serve(files, serving)  # a guard that lets go kills whoever has the lock open
    with opened(files.changes, _FLAGS) as lock, commands.inherited_by(lock):
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refusal(files) from None
        _must_serve(files, serving)
        yield


def presence(files: Files) -> str:
    """Return the name of the guard that serves, '' if none does or may."""
    serving = files.served_by()
    return serving if files.may_serve() and not files.fenced.exists() else ''


def _must_serve(files: Files, serving: str) -> None:
    if not serving or presence(files) != serving:
        raise _refusal(files)


def _refusal(files: Files) -> CommandFailed:
    return CommandFailed(
        'this host has let go of the pool, or may not serve it any more, so nothing of a share server is made '
        f'here; see {files.log}'
    )


class End:
    """The end of all changes, for a guard that lets go and has said so."""

    def __init__(self, files: Files):
        self._files = files
        self._stack = contextlib.ExitStack()
        self._lock: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def require(self) -> None:
        """Check that no change is under way, and keep it so.

        :raises CommandFailed: one is. ``OSError``: the disk of the host refuses.
        """
        if not self.has_come:
            raise CommandFailed('a share server is being changed')

    @property
    def has_come(self) -> bool:
        """Say whether no change is under way, and keep it so."""
        if self._lock is None:
            self._lock = self._stack.enter_context(opened(self._files.changes, _FLAGS))
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
