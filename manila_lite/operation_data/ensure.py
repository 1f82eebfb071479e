# SPDX-License-Identifier: Apache-2.0
"""Runs that ensure the shares of a backend."""

import dataclasses
from typing import Any

from oslo_utils import timeutils

from manila_lite.operation_data.base import ALWAYS, OperationData, record

#: The reasons for a run: a request of an administrator, the start of the service, a change of the backend's fingerprint, the
#: interval, the failure of a requested run.
API, START, CHANGED, INTERVAL, RETRY = 'api', 'start', 'changed', 'interval', 'retry'


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
    """The result of reading the backend's section again: options with new values, options that need a restart; or the error."""

    applied: list[str] = dataclasses.field(default_factory=list)
    restart: list[str] = dataclasses.field(default_factory=list)
    error: str | None = None

    @property
    def changes(self) -> dict[str, list[str]]:
        """The names of both kinds of options; nothing if the section could not be read."""
        return {'applied': self.applied, 'restart': self.restart} if self.error is None else {}


def _dump_reread(reread: Reread) -> dict[str, Any]:
    return {'error': reread.error} if reread.error is not None else {**reread.changes}


@dataclasses.dataclass(kw_only=True)
class EnsureShares(OperationData):
    """``ensure.KIND``: one run over the shares of a backend. These fields are all that is stored of it.

    The request: ``why`` is one of the reasons above. ``only`` are the ids of the instances to ensure, or None for all.
    ``narrow`` says that the run is for a part of the backend, ``server_ids`` names the share servers of that part, and ``heal``
    those to set to active if they run. ``dry_run``: list the repairs, and make none.

    A round goes over these shares once. It is number ``round``, which counts the requests for the run. It began at ``began``,
    with the ``fingerprint`` of the configuration. ``configuration`` is the result of reading that again.

    The position is the instance id ``after`` which the next batch begins. A round that began in the middle ends at ``until``,
    once it has ``wrapped`` around.

    A round has several ``passes``: ``left`` are the instances that the backend failed to ensure in the present pass, and the
    next one is over these ``only``. ``visited``: a pass has gone over all. ``broken`` are instances that cannot be served.
    ``servers`` says why share servers do not run; ``reasons`` and ``repairs`` are by share id.
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

    @property
    def is_requested(self) -> bool:
        """Whether an administrator requested the run."""
        return self.why == API

    @property
    def unread(self) -> str | None:
        """Why the configuration could not be read again, if a requested run ensured all shares with the old values."""
        if not self.is_requested or self.configuration is None or self.left or self.servers:
            return None
        return self.configuration.error

    def begin_round(self, number: int, total: int, fingerprint: str | None) -> None:
        """Begin a round. It goes on after the present position, where nothing was checked yet, and ends there."""
        self.round, self.progress, self.fingerprint = number, Figures(total), fingerprint
        self.began = timeutils.utcnow_ts(microsecond=True)
        self.until, self.wrapped = '' if self.only else self.after, False
        self.passes, self.visited = 1, False
        self.left, self.broken, self.servers, self.reasons, self.repairs = [], [], {}, {}, {}
