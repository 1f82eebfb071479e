# SPDX-License-Identifier: Apache-2.0
"""After a restart or a reboot: every share is mounted, exported and has its rules again.

Work that was under way needs nothing here: its operation is claimed again by the runner. Shares are
ensured batch by batch in the background, while new work is done.
"""

from typing import Any

from oslo_log import log

from manila_lite import context, kinds, operations
from manila_lite.db import access, pairs, shares
from manila_lite.db.models import share_type_extra_specs
from manila_lite.manager import task

LOG = log.getLogger(__name__)

_BATCH = 100


def restore(manager: Any) -> None:
    """Every share of the backend that should be served is served."""
    after = ''
    while batch := _next_batch(manager, after):
        try:
            results = manager.driver.ensure_shares(batch)
        except Exception:
            LOG.exception('[%s] %s shares could not be brought back', manager.name, len(batch))
            results = {}
        for target in batch:
            _store(manager, target, results.get(target.share.id))
        _catch_up(manager, batch)
        after = batch[-1].share.id


def _next_batch(manager: Any, after: str) -> list[kinds.EnsureTarget]:
    with manager.services.db.reader() as conn:
        rows = shares.served_on(conn, manager.host, after, _BATCH)
        exports = shares.exports(conn, [row.instance_id for row in rows])
        specs = pairs.of_many(conn, share_type_extra_specs, {row.share_type_id for row in rows if row.share_type_id})
        rules = access.granted(conn, [row.id for row in rows])
    return [kinds.EnsureTarget(task.to_kind(row, specs.get(row.share_type_id, {}), exports.get(row.instance_id, [])),
                               tuple(rules.get(row.id, ()))) for row in rows]


def _store(manager: Any, target: kinds.EnsureTarget, result: kinds.EnsureResult | None) -> None:
    if result is None:
        return
    if result.error:
        LOG.error('%s: is not served: %s', target.share.share_id, result.error)
        return
    if result.export_locations and {location.path for location in result.export_locations} != {
            location.path for location in target.share.export_locations}:
        with manager.services.db.writer() as conn:
            shares.set_exports(conn, target.share.id, result.export_locations)


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
