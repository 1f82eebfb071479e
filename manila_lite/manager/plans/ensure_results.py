# SPDX-License-Identifier: Apache-2.0
"""Ensuring one batch of shares: the driver's input and its results, read and written in a fixed number of statements
for any number of shares, and only where something changed.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_metadata
from manila_lite.db.queries import access, ensure, messages, shares
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Work
from manila_lite.manager.plans import task
from manila_lite.operation_data.ensure import EnsureShares
from manila_lite.workflow import access as access_workflow
from manila_lite.workflow import snapshot_access

LOG = log.getLogger(__name__)

#: Number of shares whose repairs are kept as text; the log has all.
_REPAIRS = 100
#: Number of shares whose own reason is kept; the others have the last one.
_REASONS = 1000
#: The reason where the row of a share was held or changed while the backend answered.
BUSY = 'It was busy.'
#: Ids in one statement; databases limit them.
_AT_ONCE = 500
_MARK, _BROKEN = states.SHARE['ensure'], states.SHARE['condemn']

now = timeutils.utcnow


def digest(settings: Mapping[str, str]) -> str | None:
    """Return a digest of the values, the same as long as all of them are; None for no values."""
    return hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest() if settings else None


def targets(db: Any, rows: Sequence[Any]) -> list[values.EnsureTarget]:
    """Return share rows as drivers see them, with the rules that shall be in force."""
    if not rows:
        return []
    with db.reader() as conn:
        known = task.as_shares(conn, rows)
        rules = access.rules_in_force(conn, [row.id for row in rows])
    return [values.EnsureTarget(known[row.instance_id], tuple(rules.get(row.id, ()))) for row in rows]


def store(
    work: Work[EnsureShares],
    batch: Any,
    results: Mapping[str, values.EnsureResult],
    why: Mapping[str, str],
    *,
    touches: bool,
    again: bool,
) -> None:
    """Store the backend's results for the batch, and put its shares back to their status, or to error.

    Shares that left the status meanwhile (deleted, reset) are not changed. ``why``: the reason for each share without a
    result, by instance id. ``again``: also notify owners who were notified before.
    """
    answers = {target.share.id: (target, results.get(target.share.id)) for target in batch.targets}
    broken = {
        instance_id: target for instance_id, (target, result) in answers.items() if result and result.error
    }
    good = {
        instance_id: (target, result)
        for instance_id, (target, result) in answers.items()
        if result and instance_id not in broken
    }
    with work.ctx.db.writer() as conn:
        there = ensure.lock_instances(conn, answers)
        # Shares that are gone, or held by other work at this moment, are checked once more, if they still exist then.
        silent = [
            instance_id
            for instance_id, (_, result) in answers.items()
            if result is None or instance_id not in there
        ]
        good = {instance_id: answer for instance_id, answer in good.items() if instance_id in there}
        updated = _locations(conn, good)
        key_values.merge_many(
            conn, share_metadata, {target.share.share_id: result.metadata for target, result in good.values()}
        )
        stale = _rules(conn, work, good, batch.doubtful)
        mended = [target.share.share_id for target, result in good.values() if result.repaired]
        if mended:  # the mounts of the snapshots are lost with those of the share
            snapshot_access.begin_all(conn, work.ctx, mended, work.op.host)
        lost = [instance_id for instance_id in broken if touches and there.get(instance_id) == _BROKEN.during]
        _settle(conn, batch, lost)
        _notify(
            conn,
            work,
            {
                target.share.share_id: (target.share.project_id, str(results[instance_id].error))
                for instance_id, target in broken.items()
                if instance_id in there
            },
            Detail.SHARE_BROKEN,
            again,
        )
        work.data.broken += [instance_id for instance_id in broken if instance_id in there]
        work.data.left += silent
        work.data.after = batch.last
        if silent:
            work.data.last_error = why.get(silent[-1], BUSY)
        _reasons(work, answers, {**dict.fromkeys(silent, BUSY), **why}, broken)
        _count(work, len(answers) - len(silent), batch.skipped, updated, good.values())
        work.save(conn)
    _log(batch, results, why)
    if stale:
        work.service.worker.runner.wake()


def store_inspected(
    work: Work[EnsureShares], batch: Any, results: Mapping[str, values.EnsureResult], why: str
) -> None:
    """Store the repairs that the batch needs, and nothing else. ``why``: the reason where there is no result."""
    answers = {target.share.id: (target, results.get(target.share.id)) for target in batch.targets}
    broken = {
        instance_id: target for instance_id, (target, result) in answers.items() if result and result.error
    }
    good = [
        (target, result)
        for instance_id, (target, result) in answers.items()
        if result and instance_id not in broken
    ]
    silent = [instance_id for instance_id, (_, result) in answers.items() if result is None]
    work.data.broken += broken
    work.data.left += silent
    work.data.after = batch.last
    _reasons(work, answers, dict.fromkeys(silent, why), broken)
    _count(work, len(answers) - len(silent), batch.skipped, 0, good)
    with work.ctx.db.writer() as conn:
        work.save(conn)


def _settle(conn: Connection, batch: Any, lost: Iterable[str]) -> None:
    well = batch.marked.difference(lost)
    if well:
        transitions.settle(conn, states.SHARE, well, _MARK.during, str(_MARK.ok))
    if lost:
        transitions.settle(conn, states.SHARE, lost, _BROKEN.during, _BROKEN.fail)


def _locations(conn: Connection, good: Mapping[str, tuple[values.EnsureTarget, values.EnsureResult]]) -> int:
    """Store the export locations that the backend reported. Return for how many shares they differ."""
    changed = {
        instance_id: result.export_locations
        for instance_id, (target, result) in good.items()
        if result.export_locations
        and _shown(result.export_locations) != _shown(target.share.export_locations)
    }
    if changed:
        shares.set_export_locations_of(conn, changed)
    return len(changed)


def _shown(locations: Iterable[values.ExportLocation]) -> list[tuple[str, bool, bool, str]]:
    return [
        (location.path, location.preferred, location.is_admin_only, location.mount_options)
        for location in locations
    ]


def _rules(
    conn: Connection,
    work: Work[EnsureShares],
    good: Mapping[str, tuple[values.EnsureTarget, values.EnsureResult]],
    doubtful: Collection[str],
) -> bool:
    """Have rules that changed meanwhile, that the backend did not take, or that are in error as a whole, applied again. Say
    whether there are any.
    """
    current = (
        access.rules_in_force(conn, [target.share.share_id for target, _ in good.values()]) if good else {}
    )
    stale = [
        target.share.share_id
        for target, result in good.values()
        if result.reapply_access_rules
        or target.share.id in doubtful
        or any(rule.error for rule in result.rules.values())
        or tuple(current.get(target.share.share_id, ())) != target.rules
    ]
    if stale:
        access_workflow.apply_rules_of(conn, work.ctx, stale, work.op.host)
    return bool(stale)


def _notify(
    conn: Connection,
    work: Work[EnsureShares],
    texts: Mapping[str, tuple[str, str]],
    detail: Detail,
    again: bool,
) -> None:
    """Notify the owners of these shares, by id with project and text. ``again``: also those whose newest message of this
    kind says the same.
    """
    known = {} if again or not texts else messages.newest_of_resources(conn, texts, Action.ENSURE)
    new = {
        share_id: (project_id, text)
        for share_id, (project_id, text) in texts.items()
        if known.get(share_id) != (detail.value[0], text)
    }
    messages.create_each(conn, work.ctx, 'SHARE', new, Action.ENSURE, detail)


def _count(
    work: Work[EnsureShares],
    answers: int,
    skipped: int,
    updated: int,
    good: Iterable[tuple[values.EnsureTarget, values.EnsureResult]],
) -> None:
    data, progress = work.data, work.data.figures
    repairs = {target.share.share_id: list(result.repaired) for target, result in good if result.repaired}
    data.repairs.update(list(repairs.items())[: max(0, _REPAIRS - len(data.repairs))])
    progress.done += answers + skipped
    progress.skipped += skipped
    progress.updated += updated
    progress.repaired += len(repairs)
    progress.broken, progress.failed = len(data.broken), len(data.left)
    progress.total = max(progress.total, progress.done)
    took = timeutils.utcnow_ts(microsecond=True) - data.began
    progress.seconds_left = round((progress.total - progress.done) * took / max(progress.done, 1), 1)


def _reasons(
    work: Work[EnsureShares],
    answers: Mapping[str, Any],
    why: Mapping[str, str],
    broken: Mapping[str, values.EnsureTarget],
) -> None:
    """Keep the reason of each share that could not be ensured, by share id, and forget those of earlier passes."""
    reasons = work.data.reasons
    for instance_id, (target, result) in answers.items():
        text = result.error if instance_id in broken else why.get(instance_id)
        reasons.pop(target.share.share_id, None)
        if text and len(reasons) < _REASONS:
            reasons[target.share.share_id] = text


def _log(batch: Any, results: Mapping[str, values.EnsureResult], why: Mapping[str, str]) -> None:
    for target in batch.targets:
        result = results.get(target.share.id)
        if result is None:
            LOG.error('%s: was not ensured: %s', target.share.share_id, why.get(target.share.id))
        elif result.error:
            LOG.error('%s: is broken: %s', target.share.share_id, result.error)
        elif result.repaired:
            LOG.warning('%s: was repaired: %s', target.share.share_id, '; '.join(result.repaired))


def report_failure(
    conn: Connection, work: Work[EnsureShares], instance_ids: Iterable[str], *, again: bool
) -> None:
    """Tell the owners of these shares that the backend failed to check them, and why if it said so.

    The log that has an unexpected error is the administrator's.
    """
    wanted, why, reasons = sorted(instance_ids), work.data.last_error, work.data.reasons
    unsaid = errors.unexpected(work.ctx.request_id)
    for start in range(0, len(wanted), _AT_ONCE):
        named = ensure.list_shares_by_instance(conn, work.op.host, wanted[start : start + _AT_ONCE], ())
        _notify(
            conn,
            work,
            {
                row.id: (row.project_id, reasons.get(row.id, why).replace(unsaid, '').rstrip())
                for row in named
            },
            Detail.NOT_ENSURED,
            again,
        )
