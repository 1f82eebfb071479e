# SPDX-License-Identifier: Apache-2.0
"""Commands of the machine: argument lists, a time limit, and the error output in exceptions."""

import contextlib
import contextvars
import os
import subprocess
from collections.abc import Iterator

from manila_lite import errors

#: The folders in which Debian keeps root's programs, too; a service's PATH may lack them. An empty one is the present folder.
_FOLDERS = (*os.environ.get('PATH', '').split(os.pathsep), '/usr/sbin', '/sbin', '/usr/bin', '/bin')
_PATH = os.pathsep.join(filter(os.path.isabs, _FOLDERS))
ENV = {**os.environ, 'PATH': _PATH, 'LC_ALL': 'C.UTF-8'}
#: Seconds that a command has, unless its caller says otherwise.
SECONDS = 60
#: Descriptors that the commands of this thread inherit.
_inherited: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar('inherited', default=())


class CommandFailed(errors.ManilaLiteError):
    """A command of the machine failed; the message says which, and what it said."""

    code = 'command_failed'


@contextlib.contextmanager
def inherited_by(fd: int) -> Iterator[None]:
    """Have the commands that this thread runs in the context inherit a descriptor: a lock is held until all of them ended,
    even if this process dies. Daemons do not inherit it.
    """
    before = _inherited.set((*_inherited.get(), fd))
    try:
        yield
    finally:
        _inherited.reset(before)


def run(*words: str, seconds: float = SECONDS) -> str:
    """Run a command to its end. Returns its output.

    :raises CommandFailed: it cannot be started, failed, or took too long.
    """
    try:
        # File names in its output may be any bytes.
        done = subprocess.run(
            words,
            env=ENV,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors='backslashreplace',
            timeout=seconds,
            check=False,
            pass_fds=_inherited.get(),
        )
    except (OSError, subprocess.TimeoutExpired) as bad:
        raise CommandFailed(f'{words[0]}: {bad}') from bad
    if done.returncode:
        raise CommandFailed(f'{" ".join(words)}: {done.stderr.strip() or f"exit status {done.returncode}"}')
    return done.stdout
