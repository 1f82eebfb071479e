# SPDX-License-Identifier: Apache-2.0
"""Operations on share servers, and questions to their backends. Those that are not here carry nothing of their own."""

import dataclasses

from manila_lite.operation_data.base import ALWAYS, OperationData, record
from manila_lite.operation_data.export_locations import LOCATIONS_BY_ID
from manila_lite.values import ExportLocation, ServerNetwork

#: The fields of a subnet that are stored.
_OF_NETWORK = (
    'subnet_id',
    'neutron_net_id',
    'neutron_subnet_id',
    'cidr',
    'ip_version',
    'gateway',
    'mtu',
    'network_type',
    'segmentation_id',
)


@dataclasses.dataclass(kw_only=True)
class CreateServer(OperationData):
    """``share_server.create``, for the share or share group of that id. ``details``: the driver's notes about it.

    ``in_use``: the backend may use the server's addresses.
    """

    share_id: str | None = None
    details: dict[str, str] = dataclasses.field(default_factory=dict)
    in_use: bool = False


@dataclasses.dataclass(kw_only=True)
class ManageServer(OperationData):
    """``share_server.manage``. ``details``: what its driver keeps about it."""

    identifier: str
    options: dict[str, str]
    details: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(kw_only=True)
class UnmanageServer(OperationData):
    """``share_server.unmanage``. ``force``: also if the backend fails."""

    force: bool


@dataclasses.dataclass(kw_only=True)
class PushMetadata(OperationData):
    """``share_server.push_metadata``."""

    subnet_id: str


# Changes of servers in use --------------------------------------------------------------------------


@dataclasses.dataclass(kw_only=True)
class CheckServers(OperationData):
    """The data of a question to a backend about some of its servers. ``key`` marks the question and its answer."""

    key: str = dataclasses.field(default='', metadata=ALWAYS)
    servers: list[str] = dataclasses.field(default_factory=list, metadata=ALWAYS)


@dataclasses.dataclass(kw_only=True)
class CheckSubnet(CheckServers):
    """``subnet.check``. ``network``: the subnet, without addresses.

    ``needed``: how many servers get addresses in it, at all backends. ``each``: how many addresses each of them needs, by the
    answer.
    """

    network: ServerNetwork = dataclasses.field(metadata=record(ServerNetwork, _OF_NETWORK))
    needed: int | None = None
    each: int = 0


@dataclasses.dataclass(kw_only=True)
class NewSecurityService(OperationData):
    """The security services that servers are to know their users by from then on, and until then."""

    new_id: str
    current_id: str | None


@dataclasses.dataclass(kw_only=True)
class CheckSecurityService(CheckServers, NewSecurityService):
    """``security_service.check``."""


@dataclasses.dataclass(kw_only=True)
class ChangeServer(OperationData):
    """The data of a change of one server, with what its driver reported (``values.ServerUpdate``)."""

    network_id: str
    details: dict[str, str] = dataclasses.field(default_factory=dict)
    lost: dict[str, str] = dataclasses.field(default_factory=dict)
    exports: dict[str, list[ExportLocation]] = dataclasses.field(
        default_factory=dict, metadata=LOCATIONS_BY_ID
    )
    snapshot_exports: dict[str, list[ExportLocation]] = dataclasses.field(
        default_factory=dict, metadata=LOCATIONS_BY_ID
    )
    pools: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(kw_only=True)
class AddSubnet(ChangeServer):
    """``share_server.add_subnet``. ``in_use``: the backend may use the server's addresses in the subnet.

    ``before``: the error that the subnet had, for a server that lacks it.
    """

    subnet_id: str
    in_use: bool = False
    before: str = ''


@dataclasses.dataclass(kw_only=True)
class UpdateSecurityService(ChangeServer, NewSecurityService):
    """``share_server.update_security_service``."""
