# SPDX-License-Identifier: Apache-2.0
"""Operations on replicas."""

import dataclasses

from manila_lite.operation_data.base import ALWAYS, OperationData, Stored, part
from manila_lite.operation_data.export_locations import LOCATIONS
from manila_lite.values import ExportLocation


@dataclasses.dataclass(kw_only=True)
class Outcome(Stored):
    """What the backend reported of a replica (``values.ReplicaResult``), and since when the replica is in sync."""

    state: str
    snapshots: dict[str, str | None]
    exports: list[ExportLocation] = dataclasses.field(metadata=LOCATIONS)
    as_of: str | None = None


@dataclasses.dataclass(kw_only=True)
class OnReplica(OperationData):
    """The data of an operation on a replica of the share. ``share_replicas.ACCESS`` carries no more.

    ``left``: the ids of snapshots that the replica may hold from the time when it was the active one.
    """

    share_id: str
    left: list[str] = dataclasses.field(default_factory=list)
    result: Outcome | None = dataclasses.field(default=None, metadata=part(Outcome))


@dataclasses.dataclass(kw_only=True)
class CreateReplica(OnReplica):
    """``share_replicas.CREATE``. ``zone`` is the name of a zone, ``named_subnets`` as for a share.

    ``claimed``: a pool, and the GiB that are claimed of it.
    """

    zone: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    only_host: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    named_subnets: bool = False
    claimed: tuple[str, int] | None = dataclasses.field(default=None, metadata={'load': tuple, 'dump': list})


@dataclasses.dataclass(kw_only=True)
class PromoteReplica(OnReplica):
    """``share_replicas.PROMOTE``. ``over``: the verb of the active replica meanwhile. ``mounted``: clients mount replicas.

    ``quiesce``: seconds that the replica may take to be in sync first; ``until``: the time when they are over.
    ``before``: the operations on the share that were being worked on at first, each with its position; ``alone_at``: the time
    after which they count no more.
    """

    over: str
    quiesce: int
    mounted: bool
    until: float | None = None
    before: dict[str, str] | None = None
    alone_at: float | None = None


@dataclasses.dataclass(kw_only=True)
class DeleteReplica(OnReplica):
    """``share_replicas.DELETE``. ``force``: also if the backend fails."""

    force: bool = dataclasses.field(default=False, metadata=ALWAYS)
    left: list[str] = dataclasses.field(default_factory=list, metadata=ALWAYS)
