# SPDX-License-Identifier: Apache-2.0
"""The ability to make share servers: file servers inside a user's own network."""

import abc
from collections.abc import Collection, Mapping, Sequence

from manila_lite import kinds


class MakesServers(abc.ABC):
    """Each share is exported by a share server, which has addresses in the subnets of a share network.

    A driver has this ability and those that build on it while ``HANDLES_SHARE_SERVERS`` is true.

    Calls here and in ``multi_subnet.py`` are idempotent by the server's id. Never two of them run at once for the
    same server; beside them come calls for its shares, and calls for other servers.
    """

    #: How many addresses a server needs in each of its subnets.
    ALLOCATIONS_PER_SUBNET: int = 1
    #: How many it needs in the network of administrators besides.
    ADMIN_ALLOCATIONS: int = 0

    def held_servers(self) -> Collection[str]:
        """Return the ids of the servers that the backend holds and takes for ours, whether they run or not. Quick."""
        return ()

    @abc.abstractmethod
    def setup_server(self, server: kinds.ShareServer) -> Mapping[str, str]:
        """The server runs, with exactly the addresses of ``server.networks`` and ``server.admin_allocations``.

        Each network has ``ALLOCATIONS_PER_SUBNET`` addresses. A driver that is no ``SpansSubnets`` gets one network.
        Returns details to store with the server.

        :raises errors.Final: one of the networks cannot be configured; the server is to be torn down.
        """

    @abc.abstractmethod
    def teardown_server(self, server: kinds.ShareServer) -> None:
        """Nothing is left of the server, whatever of it was ever set up. One that is not there is a success.

        :raises errors.Final: it still exports shares; nothing was changed.
        """

    @abc.abstractmethod
    def ensure_servers(self, servers: Sequence[kinds.ShareServer]) -> Mapping[str, kinds.ServerResult]:
        """Each server runs with exactly its addresses, whatever was lost since (a reboot, a crash).

        Called before ``ensure_shares`` brings back exports and rules. Also takes back an address that is in use but
        not stored: what an update left that was given up. What is well is not touched. Returns a result for every server,
        by its id.
        """
