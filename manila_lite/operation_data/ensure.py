# SPDX-License-Identifier: Apache-2.0
"""Runs that ensure the shares of a backend."""

import dataclasses
from typing import Any

from manila_lite.operation_data.base import ALWAYS, OperationData, record


@dataclasses.dataclass
class Figures:
    """The progress of a round, in shares."""

    total: int
    done: int = 0
    skipped: int = 0
    broken: int = 0
    failed: int = 0
    repaired: int = 0
    updated: int = 0
    seconds_left: float | None = None


@dataclasses.dataclass
class Reread:
    """What came of reading the backend's section again: options with new values, those that need a restart; or the error."""

    applied: list[str] = dataclasses.field(default_factory=list)
    restart: list[str] = dataclasses.field(default_factory=list)
    error: str | None = None

    @property
    def changes(self) -> dict[str, list[str]]:
        """The options, by what becomes of them; nothing if the section could not be read."""
        return {'applied': self.applied, 'restart': self.restart} if self.error is None else {}


def _dump_reread(reread: Reread) -> dict[str, Any]:
    return {'error': reread.error} if reread.error is not None else {**reread.changes}


@dataclasses.dataclass(kw_only=True)
class EnsureShares(OperationData):
    """``ensure.KIND``. ``why`` it was begun. ``narrow``: for a part of the backend. ``dry_run``: only list the repairs.

    ``only``: the ids of instances: those of the first round of a new run, and then those of the present pass. ``server_ids``:
    of its share servers; ``heal``: of those to set to active if they run.

    A round begins when the run is asked for (``round`` is how often that was so), at ``began``, with the ``fingerprint`` that
    the configuration had, and ``configuration`` is what was read again. It goes on ``after`` an instance id; if it began in the
    middle, it has ``wrapped`` and ends at ``until``. Its ``passes`` are the tries: ``left`` are the instances for which the
    backend failed in the present one, and ``visited`` says that a pass went over all. ``broken`` are instances that cannot be
    served, ``servers`` says why share servers do not run, ``reasons`` and ``repairs`` are by share id.
    """

    why: str
    narrow: bool = False
    dry_run: bool = dataclasses.field(default=False, metadata=ALWAYS)
    only: list[str] | None = dataclasses.field(default=None, metadata=ALWAYS)
    server_ids: list[str] | None = None
    heal: list[str] = dataclasses.field(default_factory=list)
    progress: Figures | None = dataclasses.field(default=None, metadata=record(Figures))
    round: int | None = None
    began: float = 0.0
    fingerprint: str | None = dataclasses.field(default=None, metadata=ALWAYS)
    configuration: Reread | None = dataclasses.field(
        default=None, metadata=record(Reread) | {'dump': _dump_reread}
    )
    after: str = dataclasses.field(default='', metadata=ALWAYS)
    until: str = dataclasses.field(default='', metadata=ALWAYS)
    wrapped: bool = dataclasses.field(default=False, metadata=ALWAYS)
    passes: int = dataclasses.field(default=1, metadata=ALWAYS)
    visited: bool = False
    left: list[str] = dataclasses.field(default_factory=list, metadata=ALWAYS)
    broken: list[str] = dataclasses.field(default_factory=list, metadata=ALWAYS)
    servers: dict[str, str] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    reasons: dict[str, str] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    repairs: dict[str, list[str]] = dataclasses.field(default_factory=dict, metadata=ALWAYS)
    last_error: str = ''

    @property
    def figures(self) -> Figures:
        """The progress of a round that has begun."""
        if self.progress is None:
            raise ValueError('No round has begun.')
        return self.progress
