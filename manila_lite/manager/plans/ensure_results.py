# SPDX-License-Identifier: Apache-2.0
"""The input and the results of the driver for one batch of a run of ``ensure``. They are read and written in a fixed number of
statements for any number of shares, and only where something changed.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_metadata
from manila_lite.db.queries import access, ensure, export_locations, messages
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
#: The reason for a share whose row another transaction held or deleted while the backend answered.
_BUSY = 'It was busy.'
#: Ids in one statement; databases limit them.
_AT_ONCE = 500
_ENSURE, _BROKEN = states.SHARE['ensure'], states.SHARE['condemn']


class Batch(NamedTuple):
    """Some shares, as drivers see them. ``marked`` are the ids of instances in status ``ensuring``, ``doubtful`` those whose
    rules are in error as a whole. ``skipped`` is the number of shares that are only counted. ``last`` is the position behind.
    """

    targets: Sequence[values.EnsureTarget]
    ensuring: frozenset[str]
    skipped: int
    last: str
    doubtful: frozenset[str]


class Answer(NamedTuple):
    """What the backend said about a share, or ``why`` it said nothing."""

    target: values.EnsureTarget
    result: values.EnsureResult | None
    why: str

    @property
    def instance_id(self) -> str:
        """The id of the share's instance."""
        return self.target.share.id

    @property
    def share_id(self) -> str:
        """The id of the share."""
        return self.target.share.share_id


#: Answers with their results.
Results = Sequence[tuple[Answer, values.EnsureResult]]


def targets(db: Any, rows: Sequence[Any]) -> list[values.EnsureTarget]:
    """Return share rows as drivers see them, with the rules that shall be in force."""
    if not rows:
        return []
    with db.reader() as conn:
        known = task.as_shares(conn, rows)
        rules = access.rules_in_force(conn, [row.id for row in rows])
    return [
        values.EnsureTarget(
            known[row.instance_id], tuple(rules.get(row.id, ())), functools.partial(_rules_now, db, row.id)
        )
        for row in rows
    ]


def _rules_now(db: Any, share_id: str) -> tuple[values.AccessRule, ...]:
    with db.reader() as conn:
        return tuple(access.rules_in_force(conn, (share_id,)).get(share_id, ()))


def store(work: Work[EnsureShares], batch: Batch, answers: Sequence[Answer]) -> None:
    """Store the answers about a batch, and put its shares back to their status, or to error.

    The status of a share that was deleted or reset meanwhile is not changed.
    """
    _log(answers)
    with work.ctx.db.writer() as conn:
        # A share that is gone, or held by other work at this moment, is checked once more, if it still exists then.
        there = ensure.lock_instances(conn, [one.instance_id for one in answers])
        answers = [
            one._replace(result=None, why=_BUSY) if one.result and one.instance_id not in there else one
            for one in answers
        ]
        good, broken, silent = sort(answers)
        updated = _store_locations(conn, good)
        metadata = {one.share_id: result.metadata for one, result in good}
        key_values.merge_many(conn, share_metadata, metadata)
        stale = _apply_rules(conn, work, batch, good)
        mended = [one.share_id for one, result in good if result.repaired]
        if mended:  # the mounts of the snapshots are lost with those of the share
            snapshot_access.begin_all(conn, work.ctx, mended, work.op.host)
        _settle(
            conn, batch, {one.instance_id for one, _ in broken if there[one.instance_id] == _BROKEN.during}
        )
        texts = {one.share_id: (one.target.share.project_id, str(result.error)) for one, result in broken}
        _notify(conn, work, texts, Detail.SHARE_BROKEN)
        if silent:
            work.data.last_error = silent[-1].why
        note(work.data, batch, answers, updated)
        work.save(conn)
    if stale:
        work.service.worker.runner.wake()


def sort(answers: Sequence[Answer]) -> tuple[Results, Results, Sequence[Answer]]:
    """Return the answers about shares that are served, about broken ones, and those without a result."""
    said = [(one, one.result) for one in answers if one.result]
    good = [(one, result) for one, result in said if not result.error]
    broken = [(one, result) for one, result in said if result.error]
    return good, broken, [one for one in answers if not one.result]


def _store_locations(conn: Connection, good: Results) -> int:
    """Store the export locations that the backend reported. Return for how many shares they differ."""
    changed = {
        one.instance_id: result.export_locations
        for one, result in good
        if result.export_locations
        and _shown(result.export_locations) != _shown(one.target.share.export_locations)
    }
    if changed:
        export_locations.set_of_instances(conn, changed)
    return len(changed)


def _shown(locations: Iterable[values.ExportLocation]) -> list[tuple[str, bool, bool, str]]:
    return [
        (location.path, location.preferred, location.is_admin_only, location.mount_options)
        for location in locations
    ]


def _apply_rules(conn: Connection, work: Work[EnsureShares], batch: Batch, good: Results) -> bool:
    """Begin to apply rules again that changed meanwhile, that the backend did not take, or that are in error as a whole. Say
    whether there are any.
    """
    current = access.rules_in_force(conn, [one.share_id for one, _ in good]) if good else {}
    stale = [
        one.share_id
        for one, result in good
        if result.reapply_access_rules
        or one.instance_id in batch.doubtful
        or any(rule.error for rule in result.rules.values())
        or tuple(current.get(one.share_id, ())) != one.target.rules
    ]
    if stale:
        access_workflow.apply_rules_of(conn, work.ctx, stale, work.op.host)
    return bool(stale)


def _settle(conn: Connection, batch: Batch, broken: set[str]) -> None:
    """Set the marked shares among the broken ones to error, and the other marked ones to the status that they had."""
    for verb, instance_ids, to in (
        (_ENSURE, batch.ensuring - broken, _ENSURE.ok),
        (_BROKEN, batch.ensuring & broken, _BROKEN.fail),
    ):
        if instance_ids:
            transitions.settle(conn, states.SHARE, instance_ids, verb.during, str(to))


def _notify(
    conn: Connection, work: Work[EnsureShares], texts: Mapping[str, tuple[str, str]], detail: Detail
) -> None:
    """Notify the owners of these shares, by id with project and text. An automatic run does not repeat their newest message."""
    repeats = work.data.is_requested or not texts
    known = {} if repeats else messages.newest_of_resources(conn, texts, Action.ENSURE)
    new = {
        share_id: (project_id, text)
        for share_id, (project_id, text) in texts.items()
        if known.get(share_id) != (detail.value[0], text)
    }
    messages.create_each(conn, work.ctx, 'SHARE', new, Action.ENSURE, detail)


def note(data: EnsureShares, batch: Batch, answers: Sequence[Answer], updated: int = 0) -> None:
    """Note the position behind the batch, the reason of each share that was not ensured, the repairs, and the progress."""
    good, broken, silent = sort(answers)
    data.after = batch.last
    data.left += [one.instance_id for one in silent]
    data.broken += [one.instance_id for one, _ in broken]
    for one in answers:
        data.reasons.pop(one.share_id, None)  # that of an earlier pass
        text = one.result.error if one.result else one.why
        if text and len(data.reasons) < _REASONS:
            data.reasons[one.share_id] = text
    repairs = {one.share_id: list(result.repaired) for one, result in good if result.repaired}
    data.repairs.update(list(repairs.items())[: max(0, _REPAIRS - len(data.repairs))])
    figures = data.figures
    figures.done += len(answers) - len(silent) + batch.skipped
    figures.skipped += batch.skipped
    figures.updated += updated
    figures.repaired += len(repairs)
    figures.broken, figures.failed = len(data.broken), len(data.left)
    figures.total = max(figures.total, figures.done)
    took = timeutils.utcnow_ts(microsecond=True) - data.began
    figures.seconds_left = round((figures.total - figures.done) * took / max(figures.done, 1), 1)


def _log(answers: Iterable[Answer]) -> None:
    for one in answers:
        if one.result is None:
            LOG.error('%s: was not ensured: %s', one.share_id, one.why)
        elif one.result.error:
            LOG.error('%s: is broken: %s', one.share_id, one.result.error)
        elif one.result.repaired:
            LOG.warning('%s: was repaired: %s', one.share_id, '; '.join(one.result.repaired))


def report_failure(conn: Connection, work: Work[EnsureShares], instance_ids: Iterable[str]) -> None:
    """Tell the owners of these shares that the backend failed to check them, with the reason if it gave one.

    Only the log has the text of an unexpected error.
    """
    wanted, why, reasons = sorted(instance_ids), work.data.last_error, work.data.reasons
    unsaid = errors.unexpected(work.ctx.request_id)
    for start in range(0, len(wanted), _AT_ONCE):
        named = ensure.list_shares_by_instance(conn, work.op.host, wanted[start : start + _AT_ONCE], ())
        texts = {
            row.id: (row.project_id, reasons.get(row.id, why).replace(unsaid, '').rstrip()) for row in named
        }
        _notify(conn, work, texts, Detail.NOT_ENSURED)
