# SPDX-License-Identifier: Apache-2.0
"""Share servers: each is a network namespace with file servers, on the pool of the backend."""

import shutil
import threading
from pathlib import Path

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers import networks
from manila_lite.drivers.linux.ids import SAFE_ID
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.protocols import fencing
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer, Source
from manila_lite.drivers.linux.protocols.protocol_servers import ProtocolServers, exported
from manila_lite.drivers.linux.servers import notes
from manila_lite.drivers.linux.servers.fabric import Fabric
from manila_lite.drivers.linux.servers.namespace import Namespace
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)


class ShareServers:
    """The servers of one backend. A server has a folder from the beginning of its set-up to the end of its teardown."""

    def __init__(self, state: Path, conf: LinuxOptions, source: Source):
        self._state = state / 'servers'
        self._conf = conf
        self._source = source
        self._fabric = Fabric(conf.linux_fabric_netns)
        self._running: dict[str, ProtocolServers] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    # Present state ----------------------------------------------------------------------------

    def protocol_server(self, ident: str, proto: str = 'NFS') -> ProtocolServer:
        """Return the outlet for a protocol on a running share server.

        :raises errors.Final: the server does not run, or does not serve the protocol.
        """
        self._must_be_here(ident)
        try:
            protocol_servers = self._running[ident]
        except KeyError:
            raise errors.Final(f'Share server {ident} does not run on this backend.') from None
        return protocol_servers.of(proto)

    def protocol_servers(self) -> list[ProtocolServers]:
        """Return the outlets of all running share servers."""
        return [protocol_server for ident,
                protocol_server in list(self._running.items()) if not fencing.by(self._state / ident)]

    def held(self) -> list[str]:
        """Return the ids of all managed servers that were set up, even partly, and not torn down."""
        return [folder.name for folder in self.folders() if not notes.of(folder)]

    def folders(self) -> list[Path]:
        """Return the folders of all servers, managed or not."""
        return sorted(self._state.glob('*'))

    def folder(self, ident: str) -> Path:
        """Return the folder of the server. It exists while the server is set up.

        :raises errors.Final: the id is not valid.
        """
        if not SAFE_ID.fullmatch(ident):
            raise errors.Final(f'{ident!r} is no id of a share server.')
        return self._state / ident

    def _lock(self, ident: str) -> threading.Lock:
        name = self.folder(ident).name
        with self._guard:
            return self._locks.setdefault(name, threading.Lock())

    def _namespace(self, ident: str) -> Namespace:
        return Namespace(ident, self._fabric)

    def exported(self, ident: str) -> list[str]:
        """Return the ids of the shares and snapshots that the server exports, or exported before it was stopped."""
        return exported([self.folder(ident)])

    def shape(self, ident: str, limit: int | None) -> bool:
        """Limit the server's traffic to so many bytes per second; see ``Namespace.shape``."""
        with self._lock(ident):
            return self._namespace(ident).shape(limit)

    def forget(self, ident: str, share: str) -> None:
        """Remove the share's export from the server, also if the server does not run now."""
        if (protocol_servers := self._running.get(ident)) and not fencing.by(self.folder(ident)):
            protocol_servers.forget(share)
            return
        with self._lock(ident):
            self._new_protocol_servers(ident).discard(share)

    # Changes ----------------------------------------------------------------------------------

    def adopt(self) -> None:
        """Start file servers for the share servers that still have their networks; the others wait for ``have``."""
        for folder in self.folders():
            with self._lock(folder.name):
                if self._namespace(folder.name).is_there and not notes.of(folder) and not fencing.by(folder):
                    try:
                        self._start(folder.name)
                    except (CommandFailed, OSError) as bad:
                        LOG.error('Share server %s does not run; it waits to be ensured: %s', folder.name, bad)

    def have(self, server: values.ShareServer) -> tuple[str, ...]:
        """Make the server run with exactly its addresses. Returns the repairs in words.

        :raises errors.Final: its networks are invalid.
        """
        with self._lock(server.id):
            self._must_be_here(server.id)
            networks.vet(server)
            (self._state / server.id).mkdir(parents=True, exist_ok=True)
            return (*self._namespace(server.id).have(server.allocations), *self._start(server.id))

    def _start(self, ident: str) -> tuple[str, ...]:
        protocol_servers = self._running.get(ident)
        if protocol_servers:
            return protocol_servers.ensure()     # a second start would disturb calls for its shares
        protocol_servers = self._new_protocol_servers(ident)
        found = protocol_servers.start()
        self._running[ident] = protocol_servers
        return found

    def _must_be_here(self, ident: str) -> None:
        if migration := fencing.by(self.folder(ident)):
            raise errors.Final(f'Share server {ident} went away with migration {migration}.')

    # Moves ------------------------------------------------------------------------------------

    def prepare(self, ident: str) -> None:
        """Start the server. A new one has no address yet, so that no client can reach it."""
        with self._lock(ident):
            (self._state / ident).mkdir(parents=True, exist_ok=True)
            if not self._namespace(ident).is_there:
                self._namespace(ident).have(())
            self._start(ident)

    def send_away(self, ident: str, migration: str) -> bool:
        """Disconnect and halt the server; only ``call_back`` lets it run again. Returns whether it was halted before.

        No acknowledged write is lost: all of them are in the pool once the server has ended.

        :raises errors.Final: the server is not here, or went away with another migration.
        """
        home = self.folder(ident)
        with self._lock(ident):
            if not home.is_dir() or notes.of(home):
                raise errors.Final(f'Share server {ident} is not on this backend.')
            with fencing.alone(home):
                before = fencing.by(home)
                if before not in ('', migration):
                    raise errors.Final(f'Share server {ident} went away with migration {before}.')
                fencing.note(home, migration)
            self._halt(ident)
        return bool(before)

    def call_back(self, ident: str) -> None:
        """Let the server run here again."""
        fencing.drop(self.folder(ident))

    def _new_protocol_servers(self, ident: str) -> ProtocolServers:
        return ProtocolServers(self._state / ident, self._conf, self._namespace(ident).name, self._source)

    def drop(self, ident: str) -> None:
        """Remove the server completely.

        :raises errors.Final: the server still exports shares.
        """
        with self._lock(ident):
            folder = self._state / ident
            self._must_export_nothing(folder)
            self._halt(ident)
            shutil.rmtree(folder, ignore_errors=True)

    def _must_export_nothing(self, folder: Path) -> None:
        if left := exported([folder]):
            raise errors.Final(f'Share server {folder.name} still exports {", ".join(left)}.')

    def leave(self, ident: str) -> None:
        """Forget the server's outlets, while its file servers run on.

        :raises errors.Final: the server still exports shares.
        """
        with self._lock(ident):
            self._must_export_nothing(self._state / ident)
            self._running.pop(ident, None)

    def move(self, old: str, new: str) -> None:
        """Stop the server, and give its folder to another id."""
        if old == new:
            return
        with self._lock(old), self._lock(new):
            self._halt(old)
            (self._state / old).rename(self._state / new)

    def _halt(self, ident: str) -> None:
        folder = self._state / ident
        namespace = self._namespace(ident)
        protocol_servers = self._running.pop(ident, None)
        if folder.exists():
            (protocol_servers or self._new_protocol_servers(ident)).stop()
        namespace.delete()

    def halt(self) -> None:
        """Stop all servers; their exports are remembered."""
        for folder in sorted(self._state.glob('*')):
            with self._lock(folder.name):
                self._halt(folder.name)
