# SPDX-License-Identifier: Apache-2.0
"""Set-up and repair of share servers, the addition of subnets, and the managing of servers that are there."""

import concurrent.futures
from collections.abc import Mapping, Sequence
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers import networks
from manila_lite.drivers.file_servers import export_locations
from manila_lite.drivers.linux.servers import notes
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.host.commands import CommandFailed

#: Number of servers that are ensured at the same time.
_AT_ONCE = 4


class ServerSetup:
    """The set-up of one backend's share servers."""

    def __init__(self, servers: ShareServers, ports: Mapping[str, int]):
        self._servers = servers
        self._ports = ports

    def set_up(self, server: values.ShareServer) -> Mapping[str, str]:
        """Create a namespace with the server's addresses, join the domain of its security service, and start an NFS server.
        In a domain, a CIFS server starts, too; otherwise the first CIFS share starts it. Returns details to store.
        """
        self._servers.ensure(server, joins=True)
        return _details(server)

    def ensure(self, servers: Sequence[values.ShareServer]) -> Mapping[str, values.ServerResult]:
        """Bring back the namespace, the addresses and the file servers of each server; several at a time."""
        with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as workers:
            return dict(
                zip((server.id for server in servers), workers.map(self._ensure, servers), strict=True)
            )

    def _ensure(self, server: values.ShareServer) -> values.ServerResult:
        try:
            return values.ServerResult(_details(server), repaired=self._servers.ensure(server))
        except (errors.Final, CommandFailed, OSError) as bad:
            # One broken server must not keep the others from being ensured.
            return values.ServerResult(error=str(bad))

    def check_subnet(self, server: values.ShareServer, new: values.ServerNetwork, *_: object) -> None:
        """Check that the server runs, and that the new subnet overlaps with none of its subnets."""
        self._servers.protocol_server(server.id)
        networks.vet_new(server, new)

    def add_subnet(
        self,
        server: values.ShareServer,
        new: values.ServerNetwork,
        shares: Sequence[values.Share],
        *_: object,
    ) -> values.ServerUpdate:
        """Add an interface to the namespace for each new address; the file servers listen on all addresses already."""
        self._servers.protocol_server(server.id)
        joined = server.joined(new)
        self._servers.ensure(joined)
        return values.ServerUpdate(
            _details(joined), {share.id: tuple(self.locations(share, joined)) for share in shares}
        )

    # Servers that this backend made and unmanaged, by the same database or another one. Such a server keeps its folder, with a
    # note of its identifier and its addresses. A reboot removes its namespace and its file servers; they come back only when
    # the server is managed again.

    def find(self, server: values.ShareServer, identifier: str, *_: object) -> Sequence[str]:
        """Return the addresses from the server's note."""
        if notes.name(self._servers.folder(server.id)) == identifier:
            return [allocation.ip_address for allocation in server.allocations]
        return list(notes.of(self._manageable(identifier))['addresses'])

    def manage(self, server: values.ShareServer, identifier: str, *_: object) -> Mapping[str, str]:
        """Move the server's folder to its new id, and make its namespace and NFS server anew; those of the old id are
        removed. Returns details to store.
        """
        home = self._servers.folder(server.id)
        if notes.name(home) != identifier:
            self._servers.move(self._manageable(identifier).name, server.id)
            notes.rename(home, identifier)
        notes.drop(home)
        return self.set_up(server)

    def unmanage(self, server: values.ShareServer) -> None:
        """Write a note into the server's folder; its file servers run on."""
        home = self._servers.folder(server.id)
        if home.exists() and not notes.of(home):
            self._servers.detach(server.id)
            notes.leave(
                home,
                notes.name(home) or server.id,
                [allocation.ip_address for allocation in server.allocations],
            )

    def _manageable(self, identifier: str) -> Path:
        """Return the folder of an unmanaged server.

        :raises errors.Final: no server has that identifier, or it is managed.
        """
        for home in self._servers.folders():
            note = notes.of(home)
            if note and note.get('identifier') == identifier:
                return home
            if not note and identifier in (home.name, notes.name(home)):
                raise errors.Final(f'Share server {identifier} of this backend is managed already.')
        raise errors.Final(f'This backend has no share server {identifier} that was unmanaged.')

    # ------------------------------------------------------------------------------------------

    def locations(self, share: values.Share, server: values.ShareServer) -> list[values.ExportLocation]:
        """Return the export locations of a share on a server."""
        return export_locations.on(share, server, self._ports)


def _details(server: values.ShareServer) -> dict[str, str]:
    return {'namespace': f'manila-{server.id}'}
