# SPDX-License-Identifier: Apache-2.0
"""The abilities around share servers that live in several subnets at once, one abstract class each."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import kinds
from manila_lite.drivers.interface.servers import MakesServers


class SpansSubnets(MakesServers):
    """``setup_server`` takes several networks. A share on such a server has an export location for every address."""


class AddsSubnets(MakesServers):
    """Servers in use can get one more subnet. Does not follow from ``SpansSubnets``, nor the other way round."""

    @abc.abstractmethod
    def check_update_share_server_network_allocations(self, server: kinds.ShareServer, new: kinds.ServerNetwork,
                                                      targets: Sequence[kinds.EnsureTarget]) -> None:
        """``update_share_server_network_allocations`` can be expected to work. Changes nothing.

        ``new`` has no allocations yet; ``targets`` are all shares of the server, with their rules.

        :raises errors.Final: it cannot be done; the message is the reason, for the one who asked.
        """

    @abc.abstractmethod
    def update_share_server_network_allocations(self, server: kinds.ShareServer, new: kinds.ServerNetwork,
                                                shares: Sequence[kinds.Share],
                                                snapshots: Sequence[kinds.Snapshot]) -> kinds.ServerUpdate:
        """The server has the addresses of ``new`` too; clients of the others noticed nothing.

        ``server`` is as it was before, or has ``new`` already. ``shares`` and ``snapshots`` are all that it exports;
        the answer has the export locations of each.

        :raises errors.Final: it cannot be done; the server has the addresses that it had.
        """


class TakesSubnetMetadata(MakesServers):
    """Metadata of a subnet means something to the servers in it."""

    @abc.abstractmethod
    def update_share_network_subnet_from_metadata(self, server: kinds.ShareServer, network: kinds.ServerNetwork,
                                                  metadata: Mapping[str, str]) -> None:
        """The server acts by ``metadata``, all that the subnet has now of the keys in driver_updatable_subnet_metadata.

        :raises errors.Final: a value makes no sense; the server acts as before.
        """
