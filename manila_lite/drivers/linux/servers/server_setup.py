# SPDX-License-Identifier: Apache-2.0
"""Set-up, repair and teardown of share servers, and the addition of subnets."""

import concurrent.futures
from collections.abc import Mapping, Sequence

from manila_lite import errors, values
from manila_lite.drivers import networks
from manila_lite.drivers.file_servers import export_locations
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
        """Create a namespace with the server's addresses, and start an NFS server in it. The first CIFS share starts a
        CIFS server. Returns details to store.
        """
        self._servers.ensure(server)
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

    def locations(self, share: values.Share, server: values.ShareServer) -> list[values.ExportLocation]:
        """Return the export locations of a share on a server."""
        return export_locations.on(share, server, self._ports)


def _details(server: values.ShareServer) -> dict[str, str]:
    return {'namespace': f'manila-{server.id}'}
