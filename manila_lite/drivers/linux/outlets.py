# SPDX-License-Identifier: Apache-2.0
"""What one place serves, a share server or a backend without them: an outlet for each protocol, beside each other.

Another protocol is another row of the table, with a ``FileServer`` of its own.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from manila_lite import errors
from manila_lite.drivers.linux import check
from manila_lite.drivers.linux.file_server import FileServer
from manila_lite.drivers.linux.ganesha import Ganesha
from manila_lite.drivers.linux.options import wants_directory
from manila_lite.drivers.linux.outlet import Outlet, Source
from manila_lite.drivers.linux.samba import Samba

_NO_DIRECTORY = ('the pool is a plain directory, of which clients could reach the whole file system; '
                 'manila-linux-convert copies it to a btrfs pool')
#: Where in the folder of its place each protocol has its own.
_FOLDERS = {'NFS': '', 'CIFS': 'cifs'}


def _ganesha(home: Path, conf: Any, netns: str | None) -> FileServer:
    return Ganesha(home, conf.linux_nfs_port, netns=netns, graceless=conf.linux_graceless, grace=conf.linux_grace_period,
                   lacks=_lacking(conf).get('NFS', ''))


def _samba(home: Path, conf: Any, netns: str | None) -> FileServer:
    return Samba(home / _FOLDERS['CIFS'], home, conf.linux_cifs_port, netns=netns, users=conf.linux_cifs_users,
                 lacks=_lacking(conf).get('CIFS', ''))


_SERVERS: Mapping[str, Callable[[Path, Any, str | None], FileServer]] = {'NFS': _ganesha, 'CIFS': _samba}


def protocols(conf: Any) -> frozenset[str]:
    """Return what a backend serves."""
    return frozenset(_SERVERS) - frozenset(_lacking(conf))


def _lacking(conf: Any) -> Mapping[str, str]:
    """Return why a protocol is not served, of each that is not."""
    found = {'NFS': _NO_DIRECTORY if wants_directory(conf) else '', 'CIFS': check.lacks_for_cifs(conf)}
    return {proto: why for proto, why in found.items() if why}


def exported(homes: Iterable[Path]) -> list[str]:
    """Return what is exported from these folders, or remembered there."""
    return sorted({file.stem for home in homes for folder in _FOLDERS.values() for place in ('exports.d', 'held')
                   for file in (home / folder / place).glob('*.conf')})


class Outlets:
    """Safe for threads, if no two change the same share at once."""

    def __init__(self, home: Path, conf: Any, netns: str | None, source: Source):
        self._home = home
        self._lacking = _lacking(conf)
        self._outlets = {proto: Outlet(home / _FOLDERS[proto], make(home, conf, netns), source)
                         for proto, make in _SERVERS.items()}

    def of(self, proto: str) -> Outlet:
        """Return the outlet for a protocol.

        :raises errors.Final: there is none, or it serves nothing here; says why.
        """
        if proto not in self._outlets:
            raise errors.Final(f'This backend does not serve {proto}.')
        if proto in self._lacking:
            raise errors.Final(f'{proto} is not served here: {self._lacking[proto]}.')
        return self._outlets[proto]

    def start(self) -> tuple[str, ...]:
        """All servers run that are needed, with the exports of an earlier run. Returns in words what was amiss.

        :raises CommandFailed: one does not come up.
        """
        found = tuple(word for outlet in self._outlets.values() for word in outlet.amiss)
        self._home.mkdir(parents=True, exist_ok=True)
        for outlet in self._outlets.values():
            outlet.start()
        return found

    def ensure(self) -> tuple[str, ...]:
        """All servers run that are needed, as they should. Returns in words what was amiss.

        :raises CommandFailed: one does not come up, or was stopped on purpose.
        """
        return tuple(word for outlet in self._outlets.values() for word in outlet.ensure())

    def awake(self) -> None:
        """Servers that died run again.

        :raises CommandFailed: one does not come up, or was stopped on purpose.
        """
        for outlet in self._outlets.values():
            outlet.server.awake()

    def stop(self) -> None:
        """All servers have ended and nothing is mounted for them."""
        for outlet in self._outlets.values():
            outlet.stop()

    def forget(self, ident: str) -> None:
        """Nothing is left of the export; a busy mount goes when its last user ends."""
        for outlet in self._outlets.values():
            outlet.forget(ident)

    def discard(self, ident: str) -> None:
        """Nothing is left of the export of servers that do not run."""
        for outlet in self._outlets.values():
            outlet.discard(ident)
