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
from manila_lite.drivers.linux.outlet import Outlet, Source
from manila_lite.drivers.linux.samba import Samba

#: Where in the folder of its place each protocol has its own.
_FOLDERS = {'NFS': '', 'CIFS': 'cifs'}


def _ganesha(home: Path, conf: Any, netns: str | None) -> FileServer:
    return Ganesha(home, conf.linux_nfs_port, netns=netns, graceless=conf.linux_graceless, grace=conf.linux_grace_period)


def _samba(home: Path, conf: Any, netns: str | None) -> FileServer:
    return Samba(home / _FOLDERS['CIFS'], home, conf.linux_cifs_port, netns=netns, users=conf.linux_cifs_users,
                 lacks=check.lacks_for_cifs(conf))


_SERVERS: Mapping[str, Callable[[Path, Any, str | None], FileServer]] = {'NFS': _ganesha, 'CIFS': _samba}


def protocols(conf: Any) -> frozenset[str]:
    """Return what a backend serves."""
    return frozenset(_SERVERS) - (frozenset({'CIFS'}) if check.lacks_for_cifs(conf) else frozenset())


def exported(homes: Iterable[Path]) -> list[str]:
    """Return what is exported from these folders, or remembered there."""
    return sorted({file.stem for home in homes for folder in _FOLDERS.values() for place in ('exports.d', 'held')
                   for file in (home / folder / place).glob('*.conf')})


class Outlets:
    """Safe for threads, if no two change the same share at once."""

    def __init__(self, home: Path, conf: Any, netns: str | None, source: Source):
        self._home = home
        self._outlets = {proto: Outlet(home / _FOLDERS[proto], make(home, conf, netns), source)
                         for proto, make in _SERVERS.items()}

    def of(self, proto: str) -> Outlet:
        """Return the outlet for a protocol.

        :raises errors.Final: there is none.
        """
        try:
            return self._outlets[proto]
        except KeyError:
            raise errors.Final(f'This backend does not serve {proto}.') from None

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
