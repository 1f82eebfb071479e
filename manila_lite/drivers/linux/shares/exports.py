# SPDX-License-Identifier: Apache-2.0
"""The file servers and export locations of shares, with and without share servers."""

from collections.abc import Callable, Mapping, Sequence

from manila_lite import errors, values
from manila_lite.drivers.file_servers import export_locations
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer
from manila_lite.drivers.linux.protocols.protocol_servers import ProtocolServers
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.host.ids import vet_id

#: Name of the one pool of a backend.
POOL = 'pool'


class ShareExports:
    """The exports of one backend's shares.

    Without ``share_servers`` all shares are exported by ``protocol_servers``, and ``addresses`` returns those that clients
    reach these by now. With ``share_servers`` each share is exported by the share server that it is on. ``ports``: those of
    the file servers, by protocol.
    """

    def __init__(
        self,
        protocols: frozenset[str],
        addresses: Callable[[], Sequence[str]],
        protocol_servers: ProtocolServers,
        ports: Mapping[str, int],
        share_servers: ShareServers | None = None,
    ):
        self.protocols = protocols
        self.ports = ports
        self._addresses = addresses
        self._protocol_servers = protocol_servers
        self._share_servers = share_servers

    def vet(self, share: values.Share) -> None:
        """Check that the share can be on this backend.

        :raises errors.Final: it cannot.
        """
        vet_id(share.id)
        if share.pool != POOL:
            raise errors.Final(f'There is no pool {share.pool!r} here, only {POOL!r}.')
        if share.proto not in self.protocols:
            raise errors.Final(f'This backend does not serve {share.proto}.')

    def protocol_server_of(self, share: values.Share) -> ProtocolServer:
        """Return the protocol server that serves the share.

        :raises errors.Final: its share server does not run, or this backend does not serve its protocol.
        """
        if self._share_servers is None:
            return self._protocol_servers.of(share.proto)
        if share.server is None:
            raise errors.Final(f'Share {share.id} has no share server.')
        return self._share_servers.protocol_server(share.server.id, share.proto)

    def locations(self, share: values.Share) -> list[values.ExportLocation]:
        if self._share_servers is not None and share.server:
            return export_locations.on(share, share.server, self.ports)
        return export_locations.at(share, self._addresses(), self.ports)

    def addresses(self, share: values.Share) -> Sequence[str]:
        """Return all addresses from which the share can be exported."""
        if share.server:
            return [allocation.ip_address for allocation in share.server.allocations]
        return self._addresses()

    def forget(self, share: values.Share, snapshot_id: str | None = None) -> None:
        """Delete the export and the mount of the share, or of a snapshot of it."""
        resource_id = snapshot_id or share.id
        if self._share_servers is None:
            self._protocol_servers.forget(resource_id)
        elif share.server:
            self._share_servers.forget(share.server.id, resource_id)
