# SPDX-License-Identifier: Apache-2.0
"""The guard of connections: a small library (connection_guard.c) between the kernel and a file server.

Neither Samba nor NFS-Ganesha has a limit for each address. With this library they have one.
"""

from collections.abc import Mapping
from pathlib import Path

from manila_lite.drivers.file_servers import compiled

_SOURCE = Path(__file__).with_suffix('.c')


def prepare() -> None:
    """See ``compiled.prepare``."""
    compiled.prepare(_SOURCE)


class ConnectionGuard:
    """The guard of one file server, whose folder is ``home``. ``most``: connections of an address."""

    def __init__(self, home: Path, most: int):
        self._library = home / f'connections-{compiled.version(_SOURCE)}' / 'guard.so'
        self.env: Mapping[str, str] = {'LD_PRELOAD': str(self._library), 'MANILA_LITE_PER_ADDRESS': str(most)}
        #: A text that changes with the guard and its limit.
        self.start_key = f'{compiled.version(_SOURCE)} {most}'

    def install(self) -> None:
        """Put the library in place for a starting server.

        :raises CommandFailed: it cannot be compiled.
        """
        compiled.install(self._library, _SOURCE)
