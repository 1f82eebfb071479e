# SPDX-License-Identifier: Apache-2.0
"""After a restart or a reboot every share is mounted, exported and has its rules again; and as long as the backend runs
it stays so: when what its shares depend on changed, and now and then if that is wanted, all are ensured once more.

Work that was under way needs nothing here: its operation is claimed again by the runner. This only begins runs
(``manager/ensure.py``), in the background, and sees to it that what failed is tried again, less and less often, until it
works or the backend stops.
"""

import dataclasses
import threading
import time
from typing import Any

from oslo_log import log

from manila_lite import context
from manila_lite.db import operations as rows
from manila_lite.db import services
from manila_lite.manager import ensure
from manila_lite.operations import ensuring

LOG = log.getLogger(__name__)

#: Seconds before what failed is tried once more; doubled up to the last.
_RETRY, _RETRY_MOST = 1.0, 300.0
#: Seconds between looks at a run, at first and at last, and between looks at what may call for one.
_LOOK, _LOOK_LEAST, _WATCH = 0.1, 5.0, 5.0


@dataclasses.dataclass(frozen=True)
class _Rest:
    """What a run left over: these instances, or everything. ``complete``: nothing."""

    complete: bool = False
    only: list[str] | None = None


def ask(manager: Any, why: str = ensure.START, only: list[str] | None = None) -> str | None:
    """A run over all shares of the backend, or over these instances, is asked for. Return its operation, if that worked."""
    ctx = context.admin(manager.services)
    try:
        with ctx.db.writer() as conn:
            wake = ensuring.ask_once(conn, ctx, manager.host, why, only)
    except Exception:
        LOG.exception('[%s] that shares be ensured could not be asked for', manager.name)
        return None
    wake.send(ctx)
    return wake.operation_id


def keep(manager: Any, stopping: threading.Event, first: str | None) -> None:
    """Until the backend stops, every share that should be served is served, or will be tried again. ``first`` was asked
    for when it became ready.
    """
    why: str | None = ensure.START
    while why is not None:
        _until_well(manager, stopping, why, first)
        why, first = _next_reason(manager, stopping), None


def _until_well(manager: Any, stopping: threading.Event, why: str, ident: str | None) -> None:
    delay, rest = _RETRY, _Rest()
    while not stopping.is_set():
        ident = ident or ask(manager, why, rest.only)
        try:
            rest = _wait(manager, stopping, ident, rest) if ident else rest
        except Exception:
            LOG.exception('[%s] what became of its shares cannot be read', manager.name)
        ident = None
        if rest.complete or stopping.is_set():
            return
        LOG.error('[%s] some shares are not served; next try in %s s', manager.name, delay)
        stopping.wait(delay)
        delay = min(delay * 2, _RETRY_MOST)


def _wait(manager: Any, stopping: threading.Event, ident: str, before: _Rest) -> _Rest:
    """The run has ended, or the backend stops. Return what it left over, of what there was ``before``."""
    pause = _LOOK
    while not stopping.wait(pause):
        with manager.services.db.reader() as conn:
            op = rows.get(conn, ident)
        if op is None:
            return before
        if op.state != rows.OPEN:
            left = sorted({*op.data.get('left', ()), *op.data.get('broken', ())})
            return _Rest(op.state == rows.DONE and not left, left if op.data.get('visited') else before.only)
        pause = min(pause * 1.5, _LOOK_LEAST)
    return before


def _next_reason(manager: Any, stopping: threading.Event) -> str | None:
    """Wait until there is a reason to ensure all shares once more, and return it; nothing when the backend stops."""
    since, seen = time.monotonic(), _ensured_as(manager)
    while not stopping.wait(min(_WATCH, manager.section.ensure_interval or _WATCH)):
        if 0 < manager.section.ensure_interval <= time.monotonic() - since:
            return ensure.INTERVAL
        now = ensure.fingerprint(manager)
        if now not in (None, seen):
            seen = _ensured_as(manager)         # whoever asked meanwhile may have seen to it
        if now not in (None, seen):
            LOG.info('[%s] what its shares depend on changed', manager.name)
            return ensure.CHANGED
    return None


def _ensured_as(manager: Any) -> str | None:
    try:
        with manager.services.db.reader() as conn:
            return services.get(conn, manager.host, 'manila-share').ensured_as
    except Exception:
        LOG.exception('[%s] it cannot be read how its shares were last ensured', manager.name)
        return None
