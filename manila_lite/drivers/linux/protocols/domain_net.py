# SPDX-License-Identifier: Apache-2.0
"""Samba's ``net``, which looks at a domain, joins it and leaves it for one CIFS server.

One runs at a time, also when the share manager that started it died: it inherits a lock. Else the one that was left could set
another password of the computer account than the one that the server has.
"""

import fcntl
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from manila_lite.host import waits
from manila_lite.host.commands import ENV, CommandFailed
from manila_lite.host.descriptors import opened

#: Seconds for a search of a domain controller, and for a change of the domain, also of an earlier share manager.
_FIND_SECONDS, _CHANGE_SECONDS = 45.0, 120.0
#: What is said of a program that was ended because it took too long: nobody knows what the domain did.
LATE = 'there was no answer in time'


class Net:
    """The program; ``words`` start it, and ``lock`` is a file of the server."""

    def __init__(self, words: Sequence[str], lock: Path):
        self._words = words
        self._lock = lock

    def run(self, words: Sequence[str], password: str = '') -> tuple[bool, str]:
        """Run it to its end. Returns whether it worked, and its output.

        The program gets the password through memory: it is in no file, and in no list of arguments.

        :raises CommandFailed: it cannot be started, or one that an earlier share manager started does not end.
        """
        with opened(self._lock, os.O_RDWR | os.O_CREAT) as lock:
            if not waits.until(lambda: _is_taken(lock), _CHANGE_SECONDS):
                raise CommandFailed(
                    f'net: one that an earlier share manager started still runs; fuser {self._lock} shows it'
                )
            secret = os.memfd_create('password')
            try:
                os.write(secret, f'{password}\n'.encode())
                done = subprocess.run(
                    [*self._words, *words],
                    env={**ENV, 'PASSWD_FILE': f'/proc/self/fd/{secret}'} if password else ENV,
                    pass_fds=(secret, lock),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors='backslashreplace',
                    timeout=_CHANGE_SECONDS if password else _FIND_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return False, LATE
            except OSError as bad:
                raise CommandFailed(f'net: {bad}') from bad
            finally:
                os.close(secret)
        return not done.returncode, done.stdout.strip()


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
