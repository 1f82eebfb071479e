# SPDX-License-Identifier: Apache-2.0
"""The ability to make share servers: file servers inside a project's own network."""

import abc
from collections.abc import Collection, Mapping, Sequence

from manila_lite import values


class MakesServers(abc.ABC):
    """Share servers: each share is exported by one that has addresses in the subnets of a share network.

    A driver has this ability and those that build on it while ``HANDLES_SHARE_SERVERS`` is true.

    Calls here and in ``multi_subnet.py`` are idempotent by the server's id. Two of them never run at once for the same
    server. Calls for its shares, and calls for other servers, may run beside them.
    """

    #: Number of addresses that a server needs in each of its subnets.
    ALLOCATIONS_PER_SUBNET: int = 1
    #: Number of further addresses that a server needs in the network of administrators.
    ADMIN_ALLOCATIONS: int = 0

    def held_servers(self) -> Collection[str]:
        """Return the ids of all managed servers at the backend, running or not. Must be quick."""
        return ()

    @abc.abstractmethod
    def setup_server(self, server: values.ShareServer) -> Mapping[str, str]:
        """Start the server with exactly the addresses of ``server.networks`` and ``server.admin_allocations``.

        Each network has ``ALLOCATIONS_PER_SUBNET`` addresses. A driver that is no ``SpansSubnets`` gets one network.
        Returns details to store with the server.

        :raises errors.Final: one of the networks cannot be configured; the caller tears the server down.
        """

    @abc.abstractmethod
    def teardown_server(self, server: values.ShareServer) -> None:
        """Remove the server completely, even if its set-up never finished. A missing server counts as success.

        :raises errors.Final: the server still exports shares; nothing was changed.
        """

    @abc.abstractmethod
    def ensure_servers(self, servers: Sequence[values.ShareServer]) -> Mapping[str, values.ServerResult]:
        """Make each server run with exactly its addresses again, if a reboot or a crash stopped it.

        Called before ``ensure_shares``, which brings back exports and rules. Also removes an address that is in use but
        not stored, left by an update that was given up. A server whose addresses a copy took over comes with others, and
        runs with these from then on. Servers that are in order are not touched. Returns a result for every server, by
        its id.
        """
