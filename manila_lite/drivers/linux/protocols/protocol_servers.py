# SPDX-License-Identifier: Apache-2.0
"""All file servers of one share server, or of a backend without share servers: a protocol server for each protocol.

To add a protocol, add a row to the table, with its own ``FileServer``.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.file_servers.file_server import FileServer
from manila_lite.drivers.file_servers.ganesha import Ganesha
from manila_lite.drivers.linux.failover.durable_files import DurableFiles
from manila_lite.drivers.linux.options import LinuxOptions, is_shared, wants_directory
from manila_lite.drivers.linux.protocols import check
from manila_lite.drivers.linux.protocols.membership import Membership
from manila_lite.drivers.linux.protocols.protocol_server import Change, ProtocolServer, Source
from manila_lite.drivers.linux.protocols.samba import Samba
from manila_lite.drivers.linux.protocols.vfs import Vfs

_NO_DIRECTORY = (
    'the pool is a plain directory, of which clients could reach the whole file system; '
    'manila-linux-convert copies it to a btrfs pool'
)
#: The subfolder of each protocol in the folder of the backend or share server.
_FOLDERS = {'NFS': '', 'CIFS': 'cifs'}


def _ganesha(home: Path, conf: LinuxOptions, netns: str | None) -> FileServer:
    return Ganesha(
        home,
        conf.linux_nfs_port,
        Vfs(home, conf.linux_connections_per_address),
        netns=netns,
        graceless=conf.linux_graceless,
        grace=conf.linux_grace_period,
        lacks=_lacking(conf).get('NFS', ''),
        mirror=DurableFiles(home) if is_shared(conf) else None,
    )


def _samba(home: Path, conf: LinuxOptions, netns: str | None) -> FileServer:
    return Samba(
        home / _FOLDERS['CIFS'],
        home,
        conf.linux_cifs_port,
        netns=netns,
        users=conf.linux_cifs_users,
        lacks=_lacking(conf).get('CIFS', ''),
        connections=conf.linux_cifs_connections,
        per_address=conf.linux_connections_per_address,
        mirror=DurableFiles(home / _FOLDERS['CIFS']) if is_shared(conf) else None,
    )


_SERVERS: Mapping[str, Callable[[Path, LinuxOptions, str | None], FileServer]] = {
    'NFS': _ganesha,
    'CIFS': _samba,
}


def membership_of(home: Path, netns: str | None) -> Membership:
    """Return the membership of the CIFS server of a folder in a domain of users."""
    return Membership(home / _FOLDERS['CIFS'], netns)


def protocols(conf: LinuxOptions) -> frozenset[str]:
    """Return the protocols that a backend serves."""
    return frozenset(_SERVERS) - frozenset(_lacking(conf))


def _lacking(conf: LinuxOptions) -> Mapping[str, str]:
    """Return, for each protocol that is not served, the reason."""
    reasons = {'NFS': _NO_DIRECTORY if wants_directory(conf) else '', 'CIFS': check.lacks_for_cifs(conf)}
    return {proto: why for proto, why in reasons.items() if why}


def exported(homes: Iterable[Path]) -> list[str]:
    """Return the ids of all shares and snapshots that are exported from these folders, or remembered there."""
    return sorted(
        {
            file.stem
            for home in homes
            for folder in _FOLDERS.values()
            for path in ('exports.d', 'held')
            for file in (home / folder / path).glob('*.conf')
        }
    )


class ProtocolServers:
    """The protocol servers of one folder. Safe for threads, if no two change the same share at once."""

    def __init__(
        self,
        home: Path,
        conf: LinuxOptions,
        netns: str | None,
        source: Source,
        change: Change = contextlib.nullcontext,
    ):
        self._home = home
        self._lacking = _lacking(conf)
        self._protocol_servers = {
            proto: ProtocolServer(home / _FOLDERS[proto], make(home, conf, netns), source, change)
            for proto, make in _SERVERS.items()
        }

    def of(self, proto: str) -> ProtocolServer:
        """Return the server for a protocol.

        :raises errors.Final: the protocol is not served here; the message says why.
        """
        if proto not in self._protocol_servers:
            raise errors.Final(f'This backend does not serve {proto}.')
        if proto in self._lacking:
            raise errors.Final(f'{proto} is not served here: {self._lacking[proto]}.')
        return self._protocol_servers[proto]

    def start(self) -> tuple[str, ...]:
        """Start all servers that are needed, with the exports of an earlier run. Returns the repairs in words.

        :raises CommandFailed: a server does not come up.
        """
        repairs = tuple(
            repair
            for protocol_server in self._protocol_servers.values()
            for repair in protocol_server.defects
        )
        self._home.mkdir(parents=True, exist_ok=True)
        for protocol_server in self._protocol_servers.values():
            protocol_server.start()
        return repairs

    def ensure(self) -> tuple[str, ...]:
        """Make all servers that are needed run as configured. Returns the repairs in words.

        :raises CommandFailed: a server does not come up, or was stopped on purpose.
        """
        return tuple(
            repair
            for protocol_server in self._protocol_servers.values()
            for repair in protocol_server.ensure()
        )

    def restart_if_dead(self) -> None:
        """Restart servers that died.

        :raises CommandFailed: a server does not come up, or was stopped on purpose.
        """
        for protocol_server in self._protocol_servers.values():
            protocol_server.server.restart_if_dead()

    def stop(self) -> None:
        """Stop all servers and unmount their shares."""
        for protocol_server in self._protocol_servers.values():
            protocol_server.stop()

    def forget(self, resource_id: str) -> None:
        """Delete the share's exports and mounts; a busy mount goes when its last user ends."""
        for protocol_server in self._protocol_servers.values():
            protocol_server.forget(resource_id)

    def discard(self, resource_id: str) -> None:
        """Delete the share's exports and mounts, for servers that do not run."""
        for protocol_server in self._protocol_servers.values():
            protocol_server.discard(resource_id)
