# SPDX-License-Identifier: Apache-2.0
"""Evacuations of backends and hosts."""

import dataclasses
from typing import Any

from manila_lite.operation_data.base import ALWAYS, OperationData, by_id, record

#: Before the first resource that is taken: its type and id.
START = ('', '')


@dataclasses.dataclass
class Figures:
    """The progress in resources and GiB. Nothing is known before the first look, which sets the ``total``."""

    done: int = 0
    gib_done: int = 0
    total: int | None = None
    percent: int | None = None
    left: int = 0
    moving: int = 0
    seconds_left: int | None = None


@dataclasses.dataclass
class Moving:
    """A resource of this type whose migration is under way, with its GiB and how much of them is copied."""

    type: str
    to: str
    size: int
    percent: float = 0


@dataclasses.dataclass(kw_only=True)
class Evacuate(OperationData):
    """``evacuation.KIND``. The first fields are the request: see ``workflow.evacuation.Wish``; ``began`` is its time.

    ``moving`` is under way, by id; ``left`` says why others stay. ``plan``: the rows of a plan by id, as they are shown, and
    ``claims`` the GiB that it gives to each pool. ``after``: type and id of the last resource that was taken in this pass over
    them; ``through``: there is no other; ``moved``: how many have moved in it.
    """

    host: str
    began: float
    to: list[str] = dataclasses.field(default_factory=list, metadata=ALWAYS)
    any_zone: bool = dataclasses.field(default=False, metadata=ALWAYS)
    writable: bool = dataclasses.field(default=False, metadata=ALWAYS)
    nondisruptive: bool = dataclasses.field(default=False, metadata=ALWAYS)
    by_host: bool = dataclasses.field(default=False, metadata=ALWAYS)
    at_once: int
    dry_run: bool
    progress: Figures = dataclasses.field(default_factory=Figures, metadata=record(Figures))
    moving: dict[str, Moving] = dataclasses.field(
        default_factory=dict, metadata=ALWAYS | by_id(record(Moving))
    )
    left: dict[str, str] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    plan: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    claims: dict[str, float] = dataclasses.field(default_factory=dict)
    after: tuple[str, str] = dataclasses.field(default=START, metadata={'load': tuple, 'dump': list})
    through: bool = False
    moved: int = 0
