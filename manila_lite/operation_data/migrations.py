# SPDX-License-Identifier: Apache-2.0
"""Migrations of shares and share servers, their checks, and operations at the backend that is left.

``READDRESS`` and the server's ``CLOSE`` carry nothing. The deletions of what migrations leave are in ``left_copies.py``.
"""

import dataclasses
from typing import Any, NamedTuple

from manila_lite.operation_data.base import ALWAYS, OperationData, Stored, by_id, each, part, record
from manila_lite.operation_data.copies import Copying
from manila_lite.operation_data.export_locations import LOCATIONS, LOCATIONS_BY_ID
from manila_lite.operation_data.host_copies import HostCopy
from manila_lite.values import ExportLocation, MigrationSupport


class Part(NamedTuple):
    """A share instance that moves with its share server: the id of its share type, and its GiB."""

    instance_id: str
    type_id: str | None
    size: int


@dataclasses.dataclass(kw_only=True)
class Demand(Stored):
    """What a destination has to have room for.

    ``to``: a backend or a pool (None: any); ``size``: the GiB of all shares; ``types``: the ids of their share types.
    ``excluded``: why pools are excluded, by their names. ``parts``: the shares, if they can be spread over several pools.
    """

    to: str | None
    size: int
    types: list[str]
    proto: str
    network_id: str | None
    excluded: dict[str, str] = dataclasses.field(default_factory=dict)
    parts: list[Part] = dataclasses.field(
        default_factory=list, metadata=each({'load': Part._make, 'dump': list})
    )


@dataclasses.dataclass(frozen=True)
class Answer(MigrationSupport):
    """The answer to a check. ``by_host``: the host copies; ``replicas``: shares with replicas can move.

    ``server``: the idle share server that the driver chose as the target.
    """

    by_host: bool = False
    replicas: bool = False
    server: str | None = None


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of a copy for users, as ``values.MigrationProgress`` has it, with the seconds until it is complete."""

    percent: int = 0
    bytes_done: int | None = None
    bytes_total: int | None = None
    done: int | None = None
    total: int | None = None
    seconds_left: int | None = None


@dataclasses.dataclass(kw_only=True)
class Reached(Copying):
    """How far a migration is. All of it can be read of any migration, also of one that an older release began.

    ``cut``: the cut-over has begun; ``copied``: the copy is complete; ``left``: something of it may be at the target's backend.
    ``by_host``: the host copies. ``claimed``: a pool, and the GiB that are claimed of it; ``claimed_beside``: those of others.
    ``phase_one_began``: a time. ``support``: the answer to the check.
    ``passes`` of a host over all data, and the seconds that the last one took.
    """

    cut: bool = False
    copied: bool = False
    left: bool = False
    by_host: bool = False
    claimed: tuple[str, float] | None = dataclasses.field(
        default=None, metadata={'load': tuple, 'dump': list}
    )
    claimed_beside: dict[str, float] = dataclasses.field(default_factory=dict)
    phase_one_began: float | None = None
    support: Answer | None = dataclasses.field(default=None, metadata=record(Answer))
    passes: int = 0
    pass_seconds: float | None = None
    progress: Progress | None = dataclasses.field(default=None, metadata=record(Progress))

    @property
    def claims(self) -> dict[str, float]:
        """The GiB that are claimed, by pool (``host@backend#pool``).

        A release that knows only ``claimed`` gives back at least that one; the next report counts the others.
        """
        return {**dict([self.claimed]), **self.claimed_beside} if self.claimed else {}


@dataclasses.dataclass(kw_only=True)
class Migrate(Reached, Demand):
    """The data of a migration, and of its check.

    ``target``: the id of what takes the place of the source. ``by_itself``, ``evacuation``, ``assist``: see
    ``migration_targets.Move``. ``freeze``: the source is read-only while it is copied;
    ``cancellable``: the backend can cancel. ``pool`` within the backend; ``pools``: those of shares, if there are several.

    ``frozen``: the operation that makes the source read-only; ``is_readonly``: it has ended. ``cut_over_fails_since``: the time
    of the first failure of a cut-over that is repeated. ``closing``: the operation that ends the former exports, if any, begun
    at ``closing_since``; ``closed``: they have ended.
    """

    target: str
    to: str
    source_host: str = dataclasses.field(metadata={'key': 'from'})
    zone_id: str | None
    options: dict[str, Any]
    by_itself: bool = dataclasses.field(default=False, metadata=ALWAYS)
    evacuation: str | None = None
    assist: str | None = None
    freeze: bool = dataclasses.field(default=False, metadata=ALWAYS)
    cancellable: bool = dataclasses.field(default=False, metadata=ALWAYS)
    pool: str = ''
    pools: dict[str, str] = dataclasses.field(default_factory=dict)
    frozen: str | None = None
    is_readonly: bool = False
    cut_over_fails_since: float | None = None
    closing: str | None = None
    closing_since: float | None = None
    closed: bool = False

    def agree(self, support: Answer) -> None:
        """Note what the operation needs of the answer to the check."""
        self.freeze, self.cancellable, self.by_host = (
            not support.writable,
            support.migration_cancel,
            support.by_host,
        )


@dataclasses.dataclass(kw_only=True)
class MovedShare(Stored):
    """The places of a share and its snapshots after the cut-over."""

    exports: list[ExportLocation] = dataclasses.field(default_factory=list, metadata=ALWAYS | LOCATIONS)
    provider_locations: dict[str, str | None] = dataclasses.field(default_factory=dict, metadata=ALWAYS)


@dataclasses.dataclass(kw_only=True)
class MigrateShare(Migrate, HostCopy):
    """``share_migration.KIND`` and ``CHECK``. ``instance`` moves; ``abilities``: the columns of the share by its new type."""

    excluded: dict[str, str] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    instance: str
    type_id: str
    abilities: dict[str, Any]
    moved: MovedShare = dataclasses.field(default_factory=MovedShare, metadata=part(MovedShare))


@dataclasses.dataclass(kw_only=True)
class MovedServer(Stored):
    """The places of shares, by instance id, and snapshots after the cut-over.

    ``rules``: the ids and levels of the access rules that the driver was given, by share.
    """

    exports: dict[str, list[ExportLocation]] = dataclasses.field(
        default_factory=dict, metadata=ALWAYS | LOCATIONS_BY_ID
    )
    provider_locations: dict[str, str | None] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    details: dict[str, str] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    rules: dict[str, list[list[str]]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(kw_only=True)
class MigrateServer(Migrate):
    """``share_server_migration.KIND`` and ``CHECK``, of so many ``shares`` and ``snapshots``.

    ``keeps_addresses``: the target takes over those of the source; ``was_idle``: it was a server without shares.

    If a host copies: ``copies`` of shares by the ids of their instances; ``round``: the seconds that each took in this round of
    passes; ``details`` of the target; ``rules_at_target``: as ``MovedServer.rules``. ``takes_addresses``: the target gets those
    of the source at the cut-over: ``addresses_of_source`` for ``addresses_of_copy`` (ids; none if both keep theirs);
    ``readdress``: the operation at the source's backend.
    """

    network_id: str
    shares: int = dataclasses.field(default=0, metadata=ALWAYS)
    snapshots: int = dataclasses.field(default=0, metadata=ALWAYS)
    share_network_id: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    new_share_network_id: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    keeps_addresses: bool
    was_idle: bool = dataclasses.field(default=False, metadata=ALWAYS)
    takes_addresses: bool = dataclasses.field(default=False, metadata=ALWAYS)
    copies: dict[str, HostCopy] = dataclasses.field(default_factory=dict, metadata=by_id(part(HostCopy)))
    round: dict[str, float] = dataclasses.field(default_factory=dict)
    details: dict[str, str] = dataclasses.field(default_factory=dict)
    rules_at_target: dict[str, list[list[str]]] = dataclasses.field(default_factory=dict)
    addresses_of_source: list[str] | None = None
    addresses_of_copy: list[str] = dataclasses.field(default_factory=list)
    readdress: str | None = None
    moved: MovedServer = dataclasses.field(default_factory=MovedServer, metadata=part(MovedServer))


@dataclasses.dataclass(kw_only=True)
class ApplyServerRules(OperationData):
    """``share_server_migration.RULES``. ``shut_out``: the share instances that admit the host no more that copied them."""

    shut_out: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(kw_only=True)
class CloseShare(OperationData):
    """``share_migration.CLOSE``: the exports of this instance of the share end."""

    instance: str
