# SPDX-License-Identifier: Apache-2.0
"""The calls that set up, change, manage and unmanage share servers."""

from collections.abc import Collection, Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.interface import AddsSubnets, ManagesServers, SpansSubnets
from manila_lite.drivers.linux.abilities.base import ComposedDriver


class LinuxServers(ComposedDriver, SpansSubnets, AddsSubnets):
    """The calls for share servers."""

    def held_servers(self) -> Collection[str]:
        """Return the ids of all managed servers with a folder."""
        return self.services.share_servers.held()

    def setup_server(self, server: values.ShareServer) -> Mapping[str, str]:
        """Create a namespace with the server's addresses, and start an NFS server in it."""
        return self.services.server_setup.set_up(server)

    def teardown_server(self, server: values.ShareServer) -> None:
        """Tear the server down, and delete the data that a migration of it took."""
        self.services.server_migrations.clear_source(server.id)
        self.services.server_setup.tear_down(server)

    def ensure_servers(self, servers: Sequence[values.ShareServer]) -> Mapping[str, values.ServerResult]:
        """Bring back the namespace, the addresses and the file servers of each server."""
        return self.services.server_setup.ensure(servers)

    def check_update_share_server_network_allocations(
        self,
        server: values.ShareServer,
        new: values.ServerNetwork,
        targets: Sequence[values.EnsureTarget],
        snapshots: Sequence[values.Snapshot],
    ) -> None:
        """Check that the server runs, and that the new subnet overlaps with none of its subnets."""
        self.services.server_setup.check_subnet(server, new)

    def update_share_server_network_allocations(
        self,
        server: values.ShareServer,
        new: values.ServerNetwork,
        shares: Sequence[values.Share],
        snapshots: Sequence[values.Snapshot],
    ) -> values.ServerUpdate:
        """Add an interface to the namespace for each new address."""
        return self.services.server_setup.add_subnet(server, new, shares)


class LinuxServerManagement(LinuxServers, ManagesServers):
    """The calls of ``ManagesServers``. There are no driver options."""

    def find_server(
        self, server: values.ShareServer, identifier: str, options: Mapping[str, str]
    ) -> Sequence[str]:
        """Return the addresses from the server's note."""
        return self.services.managed_servers.addresses(server, identifier)

    def manage_server(
        self, server: values.ShareServer, identifier: str, options: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Move the server's folder to its new id, and make its namespace and NFS server anew."""
        return self.services.managed_servers.manage(server, identifier)

    def unmanage_server(self, server: values.ShareServer) -> None:
        """Write a note into the server's folder; its file servers run on."""
        self.services.managed_servers.unmanage(server)
