# SPDX-License-Identifier: Apache-2.0
"""The abilities for share servers in several subnets at once, one abstract class each."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.interface.servers import MakesServers


class SpansSubnets(MakesServers):
    """Support for several networks in ``setup_server``. A share then has an export location for every address of its
    server.
    """


class AddsSubnets(MakesServers):
    """The ability to add a subnet to servers in use. Independent of ``SpansSubnets``."""

    @abc.abstractmethod
    def check_update_share_server_network_allocations(
        self,
        server: values.ShareServer,
        new: values.ServerNetwork,
        targets: Sequence[values.EnsureTarget],
        snapshots: Sequence[values.Snapshot],
    ) -> None:
        """Check that ``update_share_server_network_allocations`` can be expected to work. Changes nothing.

        ``new`` has no allocations yet; the caller has checked that its gateway, its MTU and its segment are possible and
        that it has free addresses. ``targets`` are all shares of the server with their rules, each in its pool;
        ``snapshots`` are all that it exports.

        :raises errors.Final: the subnet cannot be added; the message gives the user the reason.
        """

    @abc.abstractmethod
    def update_share_server_network_allocations(
        self,
        server: values.ShareServer,
        new: values.ServerNetwork,
        shares: Sequence[values.Share],
        snapshots: Sequence[values.Snapshot],
    ) -> values.ServerUpdate:
        """Add the addresses of ``new`` to the server. Clients of its other addresses notice nothing.

        ``server`` may lack ``new``, or have it already. ``shares`` and ``snapshots`` are all that it exports; the
        result has the export locations of each share, may have those of snapshots, and names shares that changed their pool.

        :raises errors.Final: the subnet cannot be added; the server keeps the addresses that it had.
        """


class TakesSubnetMetadata(MakesServers):
    """The ability to act on the metadata of a subnet in its servers."""

    @abc.abstractmethod
    def update_share_network_subnet_from_metadata(
        self, server: values.ShareServer, network: values.ServerNetwork, metadata: Mapping[str, str]
    ) -> None:
        """Apply ``metadata`` to the server: all current pairs of the subnet whose keys are in
        driver_updatable_subnet_metadata.

        :raises errors.Final: a value is invalid; the server acts as before.
        """
