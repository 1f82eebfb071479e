# SPDX-License-Identifier: Apache-2.0
"""After a restart or a reboot: every share is mounted, exported and has its rules again.

Work that was under way needs nothing here: its operation is claimed again by the runner. Shares are
ensured batch by batch in the background, while new work is done. What failed is tried again, less and
less often, until it works or the backend stops.
"""

import threading
from typing import Any

from oslo_log import log

from manila_lite import context, kinds, operations
from manila_lite.db import access, pairs, shares
from manila_lite.db.models import share_type_extra_specs
from manila_lite.manager import servers, serving, task

LOG = log.getLogger(__name__)

_BATCH = 100
#: Seconds before what failed is tried once more; doubled up to the last.
_RETRY, _RETRY_MOST = 1.0, 300.0


def restore(manager: Any, stopping: threading.Event) -> None:
    """Every share of the backend that should be served is served, or the backend is stopping."""
    delay = _RETRY
    done: set[str] = set()
    while not stopping.is_set():
        try:
            if _pass(manager, done, stopping):
                return
        except Exception:
            LOG.exception('[%s] shares could not be brought back', manager.name)
        LOG.error('[%s] some shares are not served; next try in %s s', manager.name, delay)
        stopping.wait(delay)
        delay = min(delay * 2, _RETRY_MOST)


def _pass(manager: Any, done: set[str], stopping: threading.Event) -> bool:
    """Look at every share that is not ``done`` yet; say whether all are now."""
    complete, after = servers.restore(manager), ''
    while not stopping.is_set() and (batch := _next_batch(manager, after)):
        after = batch[-1].share.id
        left = [target for target in batch if target.share.id not in done]
        served = _ensure(manager, left)
        done |= served
        complete = complete and len(served) == len(left)
    return complete


def _ensure(manager: Any, batch: list[kinds.EnsureTarget]) -> set[str]:
    """Return the ids of those of the batch that are served."""
    if not batch:
        return set()
    try:
        results = manager.driver.ensure_shares(batch)
    except Exception:
        LOG.exception('[%s] %s shares could not be brought back', manager.name, len(batch))
        return set()
    served = {target.share.id for target in batch if _store(manager, target, results.get(target.share.id))}
    _catch_up(manager, batch)
    return served


def _next_batch(manager: Any, after: str) -> list[kinds.EnsureTarget]:
    with manager.services.db.reader() as conn:
        rows = shares.served_on(conn, manager.host, after, _BATCH)
        exports = shares.exports(conn, [row.instance_id for row in rows])
        specs = pairs.of_many(conn, share_type_extra_specs, {row.share_type_id for row in rows if row.share_type_id})
        rules = access.granted(conn, [row.id for row in rows])
        found = serving.load(conn, {row.share_server_id for row in rows if row.share_server_id})
    return [kinds.EnsureTarget(task.to_kind(row, specs.get(row.share_type_id, {}), exports.get(row.instance_id, []),
                                            server=found.get(row.share_server_id)),
                               tuple(rules.get(row.id, ()))) for row in rows]


def _store(manager: Any, target: kinds.EnsureTarget, result: kinds.EnsureResult | None) -> bool:
    """What the backend says of one share is stored; say whether it serves it."""
    if result is None or result.error:
        LOG.error('%s: is not served: %s', target.share.share_id, result.error if result else 'the backend said nothing of it')
        return False
    if result.export_locations and {location.path for location in result.export_locations} != {
            location.path for location in target.share.export_locations}:
        with manager.services.db.writer() as conn:
            if shares.by_instance(conn, target.share.id) is not None:   # deleted meanwhile otherwise
                shares.set_exports(conn, target.share.id, result.export_locations)
    return True


def _catch_up(manager: Any, batch: list[kinds.EnsureTarget]) -> None:
    """Rules that changed while the backend was at work are told to it once more: none that was denied comes back."""
    idents = [target.share.share_id for target in batch]
    with manager.services.db.writer() as conn:
        now = access.granted(conn, idents)
        stale = [target for target in batch if tuple(now.get(target.share.share_id, ())) != target.rules]
        for target in stale:
            key = f'access:{target.share.share_id}'
            operations.begin_once(conn, context.admin(manager.services), 'access.sync', 'share', target.share.share_id,
                                  topic='share', host=manager.host, lane=operations.FAST, serial=key, open_key=key)
    if stale:
        manager.worker.runner.wake()
