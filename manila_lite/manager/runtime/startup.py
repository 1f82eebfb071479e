# SPDX-License-Identifier: Apache-2.0
"""Ensuring of all shares after a start or reboot; and again while the backend runs, whenever the configuration that
they depend on changed, and at intervals if that is configured.

Operations that were under way need nothing here: the runner claims them again. This module only begins runs
(``manager/plans/ensure.py``), in the background, and repeats those that failed at ever longer intervals, until one succeeds
or the backend stops.
"""

import dataclasses
import threading
from typing import Any

from oslo_log import log

from manila_lite import context
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import services
from manila_lite.manager.plans.ensure import fingerprint
from manila_lite.operation_data.ensure import CHANGED, INTERVAL, RETRY, START, EnsureShares
from manila_lite.workflow import ensure as ensure_workflow

LOG = log.getLogger(__name__)

#: Seconds before a failed run is repeated; doubled up to the last.
_RETRY, _RETRY_MOST = 1.0, 300.0
#: Seconds between looks at a run, first and longest, and between looks for a reason for another run.
_LOOK, _LOOK_LEAST, _WATCH = 0.1, 5.0, 5.0


@dataclasses.dataclass(frozen=True)
class _Rest:
    """The rest of a run: these instances, or all. ``complete``: there is no rest."""

    complete: bool = False
    only: list[str] | None = None


def ask(manager: Any, why: str = START, only: list[str] | None = None) -> str | None:
    """Begin a run over all shares of the backend, or over these instances. Return its operation's id, or None."""
    ctx = context.admin(manager.services)
    try:
        with ctx.db.writer() as conn:
            return ensure_workflow.ask_once(conn, ctx, manager.host, why, only).operation_id
    except Exception:
        LOG.exception('[%s] a check of its shares could not be requested', manager.name)
        return None


def keep(manager: Any, stopping: threading.Event, first: str | None) -> None:
    """Repeat runs until all shares that should be served are served, and begin new ones for a reason, until the backend
    stops. ``first`` is the run that was begun when the backend became ready.
    """
    why: str | None = START
    while why is not None:
        _until_well(manager, stopping, why, first)
        why, first = _next_reason(manager, stopping), None
        if why == RETRY:  # its result says which shares are left
            first, manager.failed_run = manager.failed_run, None


def _until_well(manager: Any, stopping: threading.Event, why: str, operation_id: str | None) -> None:
    delay, rest = _RETRY, _Rest()
    while not stopping.is_set():
        operation_id = operation_id or ask(manager, why, rest.only)
        try:
            rest = _wait(manager, stopping, operation_id, rest) if operation_id else rest
        except Exception:
            LOG.exception('[%s] the results of the check of its shares cannot be read', manager.name)
        operation_id = None
        if rest.complete or stopping.is_set():
            return
        LOG.error('[%s] some shares are not served; next try in %s s', manager.name, delay)
        stopping.wait(delay)
        delay = min(delay * 2, _RETRY_MOST)


def _wait(manager: Any, stopping: threading.Event, operation_id: str, before: _Rest) -> _Rest:
    """Wait until the run has ended, or the backend stops. Return the rest, out of the rest ``before``."""
    pause = _LOOK
    while not stopping.wait(pause):
        with manager.services.db.reader() as conn:
            op = rows.get(conn, operation_id)
        if op is None:
            return before
        if op.state != rows.OPEN:
            data = EnsureShares.from_json(op.data)
            left = sorted({*data.left, *data.broken})
            return _Rest(op.state == rows.DONE and not left, left if data.visited else before.only)
        pause = min(pause * 1.5, _LOOK_LEAST)
    return before


def _next_reason(manager: Any, stopping: threading.Event) -> str | None:
    """Wait for a reason to ensure all shares once more, and return it. Return None when the backend stops."""
    clock = manager.clock
    since, seen = clock(), _ensured_as(manager)
    while not stopping.wait(min(_WATCH, manager.section.ensure_interval or _WATCH)):
        if manager.failed_run:
            return RETRY
        if 0 < manager.section.ensure_interval <= clock() - since:
            return INTERVAL
        now = fingerprint(manager)
        if now not in (None, seen, manager.ensured_as):
            seen = _ensured_as(manager)  # a run begun meanwhile may have covered it
        if now not in (None, seen, manager.ensured_as):
            LOG.info('[%s] the dependencies of its shares changed', manager.name)
            return CHANGED
    return None


def _ensured_as(manager: Any) -> str | None:
    try:
        with manager.services.db.reader() as conn:
            ensured_as: str | None = services.get(conn, manager.host, 'manila-share').ensured_as
        return ensured_as
    except Exception:
        LOG.exception('[%s] the dependencies of the last check of its shares cannot be read', manager.name)
        return None
