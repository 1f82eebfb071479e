# SPDX-License-Identifier: Apache-2.0
"""Share servers, and results of work on them."""

import dataclasses
from collections.abc import Mapping

from manila_lite.values.access import ExportLocation
from manila_lite.values.share_networks import Allocation, SecurityService, ServerNetwork


@dataclasses.dataclass(frozen=True)
class ShareServer:
    """A file server of one share network.

    ``id`` is safe as a file name; all driver calls are idempotent by it. ``networks`` are its subnets in the order they
    were added, ``admin_allocations`` addresses for administrators. ``details`` are values that the driver asked to
    store. ``encryption_key_ref`` is the id of the key that all its shares are encrypted with.
    """

    id: str
    networks: tuple[ServerNetwork, ...] = ()
    admin_allocations: tuple[Allocation, ...] = ()
    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    security_services: tuple[SecurityService, ...] = ()
    share_network_id: str | None = None
    project_id: str | None = None
    encryption_key_ref: str | None = None

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """Every address, in the order of export locations: IPv4, then IPv6, then those for administrators."""
        users = [allocation for network in self.networks for allocation in network.allocations]
        return (*sorted(users, key=lambda each: each.ip_version), *self.admin_allocations)

    def joined(self, network: ServerNetwork) -> 'ShareServer':
        """Return the server with one more subnet, or with new data of a subnet that it has."""
        networks = {known.subnet_id: known for known in self.networks} | {network.subnet_id: network}
        return dataclasses.replace(self, networks=tuple(networks.values()))


@dataclasses.dataclass(frozen=True)
class ServerUpdate:
    """The result of a change of a server's network.

    ``export_locations`` has all of them, old and new, for each share by its ``id``; ``snapshot_export_locations``
    likewise, for snapshots that can be mounted: those in it have their rules in force, the others are exported anew.
    ``pools`` has the new pool of each share that changed it, by ``id``. ``lost`` names shares that cannot be served any
    more, with the reason.
    ``details`` replace those of the server.
    """

    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    export_locations: Mapping[str, tuple[ExportLocation, ...]] = dataclasses.field(default_factory=dict)
    snapshot_export_locations: Mapping[str, tuple[ExportLocation, ...]] = dataclasses.field(
        default_factory=dict
    )
    pools: Mapping[str, str] = dataclasses.field(default_factory=dict)
    lost: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class ServerResult:
    """The result of ``ensure_servers`` for one server. ``error`` set means that it does not run.

    ``repaired`` describes the defects that were repaired; it concerns every share on the server.
    """

    details: Mapping[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None
    repaired: tuple[str, ...] = ()
