# SPDX-License-Identifier: Apache-2.0
"""Operations on replicas."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from manila_lite.operation_data import export_locations
from manila_lite.operation_data.base import ALWAYS, OperationData
from manila_lite.values import ExportLocation


@dataclasses.dataclass
class Outcome:
    """What the backend reported of a replica (``values.ReplicaResult``), and since when the replica is in sync."""

    state: str
    snapshots: dict[str, str | None]
    exports: list[ExportLocation]
    as_of: str | None = None


def _load(stored: Mapping[str, Any]) -> Outcome:
    return Outcome(
        stored['state'], stored['snapshots'], export_locations.load(stored['exports']), stored.get('as_of')
    )


def _dump(outcome: Outcome) -> dict[str, Any]:
    return {
        'state': outcome.state,
        'snapshots': outcome.snapshots,
        'exports': export_locations.dump(outcome.exports),
        **({'as_of': outcome.as_of} if outcome.as_of else {}),
    }


@dataclasses.dataclass(kw_only=True)
class OnReplica(OperationData):
    """The data of an operation on a replica of the share. ``share_replicas.ACCESS`` carries no more.

    ``left``: the ids of snapshots that the replica may hold from the time when it was the active one.
    """

    share_id: str
    left: list[str] = dataclasses.field(default_factory=list)
    result: Outcome | None = dataclasses.field(default=None, metadata={'load': _load, 'dump': _dump})


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
