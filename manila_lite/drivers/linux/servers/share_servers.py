# SPDX-License-Identifier: Apache-2.0
"""Share servers: each is a network namespace with file servers, on the pool of the backend."""

import contextlib
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers import networks
from manila_lite.drivers.file_servers import fencing
from manila_lite.drivers.linux.options import LinuxOptions, is_in_domains
from manila_lite.drivers.linux.protocols import active_directory
from manila_lite.drivers.linux.protocols.membership import Membership
from manila_lite.drivers.linux.protocols.protocol_server import Change, ProtocolServer, Source
from manila_lite.drivers.linux.protocols.protocol_servers import (
    ProtocolServers,
    exported,
    membership_of,
    protocols,
)
from manila_lite.drivers.linux.servers import notes
from manila_lite.drivers.linux.servers.fabric import Fabric
from manila_lite.drivers.linux.servers.namespace import Namespace
from manila_lite.host.commands import CommandFailed
from manila_lite.host.ids import SAFE_ID
from manila_lite.host.locks import Locks

LOG = log.getLogger(__name__)
#: Seconds after the start in which all servers are ensured, and until a step tries again at one that is not yet.
_ENSURED_WITHIN, _LATER = 300.0, 1.0


class ShareServers:
    """The servers of one backend. A server has a folder from the beginning of its set-up to the end of its teardown."""

    def __init__(
        self, state_dir: Path, conf: LinuxOptions, source: Source, change: Change = contextlib.nullcontext
    ):
        """Remember the options. In ``change``, this host keeps the pool, if others have it at other times."""
        self._state_dir = state_dir / 'servers'
        self._conf = conf
        self._source = source
        self._change = change
        self._fabric = Fabric(conf.linux_fabric_netns)
        self._running: dict[str, ProtocolServers] = {}
        self._locks = Locks()
        self._ensured_by = 0.0  # until then a server that does not run may just not be ensured yet

    # Present state ----------------------------------------------------------------------------

    def protocol_server(self, server_id: str, proto: str = 'NFS') -> ProtocolServer:
        """Return the server for a protocol on a running share server.

        :raises errors.Again: the server is yet to be ensured. errors.Final: it does not run, or does not serve the protocol.
        """
        self._must_be_here(server_id)
        try:
            protocol_servers = self._running[server_id]
        except KeyError:
            raise self._absence(server_id) from None
        return protocol_servers.of(proto)

    def _absence(self, server_id: str) -> errors.ManilaLiteError:
        """Return the error of a server that does not run. After a reboot or a takeover those here are ensured one after the
        other, while other work goes on already.
        """
        folder = self.folder(server_id)
        if time.monotonic() < self._ensured_by and folder.is_dir() and not notes.of(folder):
            return errors.Again(_LATER, f'Share server {server_id} does not run yet.')
        return errors.Final(f'Share server {server_id} does not run on this backend.')

    def protocol_servers(self) -> list[ProtocolServers]:
        """Return the protocol servers of all running share servers."""
        return [
            protocol_servers
            for server_id, protocol_servers in list(self._running.items())
            if not fencing.by(self._state_dir / server_id)
        ]

    def held(self) -> list[str]:
        """Return the ids of all managed servers that were set up, even partly, and not torn down."""
        return [folder.name for folder in self.folders() if not notes.of(folder)]

    def folders(self) -> list[Path]:
        return sorted(self._state_dir.glob('*'))

    def folder(self, server_id: str) -> Path:
        """Return the folder of the server. It exists while the server is set up.

        :raises errors.Final: the id is not valid.
        """
        if not SAFE_ID.fullmatch(server_id):
            raise errors.Final(f'{server_id!r} is not an id of a share server.')
        return self._state_dir / server_id

    def _lock(self, server_id: str) -> contextlib.AbstractContextManager[None]:
        return self._locks.of(self.folder(server_id).name)

    def _namespace(self, server_id: str) -> Namespace:
        return Namespace(server_id, self._fabric)

    def exported(self, server_id: str) -> list[str]:
        """Return the ids of the shares and snapshots that the server exports, or exported before it was stopped."""
        return exported([self.folder(server_id)])

    def shape(self, server_id: str, limit: int | None) -> bool:
        """Limit the server's traffic to so many bytes per second; see ``Namespace.shape``."""
        with self._lock(server_id):
            return self._namespace(server_id).shape(limit)

    def forget(self, server_id: str, resource_id: str) -> None:
        """Remove the export of a share or snapshot from the server, also if the server does not run now."""
        serving = self._serving(server_id)
        if serving is None:
            with self._lock(server_id):
                serving = self._serving(server_id)  # who had the lock may have started it, with this export
                if serving is None:
                    self._new_protocol_servers(server_id).discard(resource_id)
        if serving:
            serving.forget(resource_id)

    def _serving(self, server_id: str) -> ProtocolServers | None:
        return None if fencing.by(self.folder(server_id)) else self._running.get(server_id)

    # Changes ----------------------------------------------------------------------------------

    def adopt(self) -> None:
        """Start file servers for the share servers that still have their networks; the others wait for ``ensure``."""
        self._ensured_by = time.monotonic() + _ENSURED_WITHIN
        for folder in self.folders():
            with self._lock(folder.name):
                if self._namespace(folder.name).is_there and not notes.of(folder) and not fencing.by(folder):
                    try:
                        self._start(folder.name)
                    except (CommandFailed, OSError) as bad:
                        LOG.error(
                            'Share server %s does not run; it waits to be ensured: %s', folder.name, bad
                        )

    def ensure(self, server: values.ShareServer, *, joins: bool = False) -> tuple[str, ...]:
        """Make the server run with exactly its addresses. Returns the repairs in words.

        ``joins``: it joins the domain of its security service. Otherwise it does so only if it began to before: one that was
        made without stays as it is, with its users.

        :raises errors.Final: its networks or its security service are invalid, or the domain refuses it.
        """
        with self._lock(server.id):
            self._must_be_here(server.id)
            with self._change():
                networks.vet(server)
                (self._state_dir / server.id).mkdir(parents=True, exist_ok=True)
                repairs = self._namespace(server.id).ensure(server.allocations)
            self._join(server, joins)
            return (*repairs, *self._start(server.id))

    def _join(self, server: values.ShareServer, joins: bool) -> None:
        membership = self._membership(server.id)
        serves = is_in_domains(self._conf) and 'CIFS' in protocols(self._conf)
        if serves and (joins or membership.noted):
            domain = active_directory.of(server.security_services)
            if domain:
                membership.join(server.id, domain)

    def _membership(self, server_id: str) -> Membership:
        return membership_of(self._state_dir / server_id, self._namespace(server_id).name)

    def _start(self, server_id: str) -> tuple[str, ...]:
        protocol_servers = self._running.get(server_id)
        if protocol_servers:
            return protocol_servers.ensure()  # a second start would disturb calls for its shares
        protocol_servers = self._new_protocol_servers(server_id)
        repairs = protocol_servers.start()
        self._running[server_id] = protocol_servers
        return repairs

    def _must_be_here(self, server_id: str, unless: str = '') -> None:
        """Check that no migration took the server away, except ``unless``."""
        if (migration := fencing.by(self.folder(server_id))) not in ('', unless):
            raise errors.Final(f'Share server {server_id} was moved away by migration {migration}.')

    # Moves ------------------------------------------------------------------------------------

    def prepare(self, server_id: str) -> None:
        """Start the server. A new one has no address yet, so that no client can reach it."""
        with self._lock(server_id):
            with self._change():
                (self._state_dir / server_id).mkdir(parents=True, exist_ok=True)
                if not self._namespace(server_id).is_there:
                    self._namespace(server_id).ensure(())
            self._start(server_id)

    def fence(self, server_id: str, migration: str) -> bool:
        """Disconnect and halt the server; only ``unfence`` lets it run again. Returns whether it was halted before.

        No acknowledged write is lost: all of them are in the pool once the server has ended.

        :raises errors.Final: the server is not here, or went away with another migration.
        """
        home = self.folder(server_id)
        with self._lock(server_id):
            self._must_be_held(home)
            with fencing.exclusive(home):
                self._must_be_here(server_id, migration)
                before = fencing.by(home)
                fencing.note(home, migration)
            self._halt(server_id)
        return bool(before)

    def require(self, server_id: str, migration: str) -> None:
        """Check that the server is here, where the migration may have halted it.

        :raises errors.Final: the server is not here, or went away with another migration.
        """
        self._must_be_held(self.folder(server_id))
        self._must_be_here(server_id, migration)

    def _must_be_held(self, folder: Path) -> None:
        if not folder.is_dir() or notes.of(folder):
            raise errors.Final(f'Share server {folder.name} is not on this backend.')

    def unfence(self, server_id: str) -> None:
        """Let the server run here again. If it was to move within this backend, its target stops serving the shares first."""
        home = self.folder(server_id)
        target = fencing.by(home)
        if target and self.folder(target).is_dir():
            self._withdraw_all(target)
        fencing.drop(home)

    def _withdraw_all(self, server_id: str) -> None:
        with self._lock(server_id):
            is_there = self._namespace(server_id).is_there
            if is_there:
                self._start(server_id)  # it may have been started by another process, or have died
            protocol_servers = self._running[server_id] if is_there else self._new_protocol_servers(server_id)
            for resource_id in self.exported(server_id):
                (protocol_servers.forget if is_there else protocol_servers.discard)(resource_id)

    def _new_protocol_servers(self, server_id: str) -> ProtocolServers:
        return ProtocolServers(
            self._state_dir / server_id,
            self._conf,
            self._namespace(server_id).name,
            self._source,
            self._change,
        )

    def drop(self, server_id: str, services: Sequence[values.SecurityService] = ()) -> None:
        """Remove the server completely, also from the domain of one of these security services.

        :raises errors.Final: the server still exports shares.
        """
        with self._lock(server_id):
            folder = self._state_dir / server_id
            self._must_export_nothing(folder)
            if (membership := self._membership(server_id)).noted:
                membership.leave(server_id, active_directory.of(services))
            self._halt(server_id)
            shutil.rmtree(folder, ignore_errors=True)

    def _must_export_nothing(self, folder: Path) -> None:
        if left := exported([folder]):
            raise errors.Final(f'Share server {folder.name} still exports {", ".join(left)}.')

    def detach(self, server_id: str) -> None:
        """Forget the server's protocol servers, while its file servers run on.

        :raises errors.Final: the server still exports shares.
        """
        with self._lock(server_id):
            self._must_export_nothing(self._state_dir / server_id)
            self._running.pop(server_id, None)

    def move(self, old: str, new: str) -> None:
        """Stop the server, and give its folder to another id."""
        if old == new:
            return
        with self._lock(old), self._lock(new):
            self._halt(old)
            (self._state_dir / old).rename(self._state_dir / new)

    def _halt(self, server_id: str) -> None:
        folder = self._state_dir / server_id
        namespace = self._namespace(server_id)
        protocol_servers = self._running.pop(server_id, None)
        if folder.exists():
            (protocol_servers or self._new_protocol_servers(server_id)).stop()
        namespace.delete()
