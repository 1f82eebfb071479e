# SPDX-License-Identifier: Apache-2.0
"""The copy of one share by this host, the destination's: it mounts both sides, and copies snapshots, content and changes.

``host_assisted.py`` copies a share that moves by itself, ``host_assisted_servers.py`` every share of a share server.
``host_access.py`` lets this host in at both sides.
"""

from collections.abc import Callable, Mapping
from typing import Any

from oslo_log import log

from manila_lite import errors, values
from manila_lite.db.queries import messages
from manila_lite.engine import Work
from manila_lite.host_copy.clients import Side
from manila_lite.host_copy.rsync import Copy
from manila_lite.host_copy.share_moves import CannotMount, ShareMoves, differing
from manila_lite.manager.plans import copied_snapshots, host_access, poll_backoff
from manila_lite.manager.plans.host_access import ShareCopy
from manila_lite.operation_data.migrations import Migrate

LOG = log.getLogger(__name__)

_ALL = 100
#: What ``ShareMoves`` does at the cut-over, in order.
Runs = Callable[[ShareMoves, Side, Side], Copy]
_PARTS: tuple[Runs, ...] = (ShareMoves.copy, ShareMoves.compare, ShareMoves.compare_some)


# Phase one --------------------------------------------------------------------------------------------


def advance(copy: ShareCopy, patience: float = 0.0) -> Copy | None:
    """Copy the snapshots, then the share. Return the pass over the share when it is complete and on disk, else None.

    ``patience``: seconds to wait for the end of what is being copied.
    """
    if snapshot := copied_snapshots.next_of(copy):
        _copy_snapshot(copy, snapshot, patience)
        return None
    run = _run(copy, patience=patience)
    if not run.is_complete:
        return None
    copy.moves.write_out(copy.id)
    return run


def _copy_snapshot(copy: ShareCopy, snapshot: values.Snapshot, patience: float) -> None:
    """Bring the target to the content of the snapshot, and take the snapshot there."""
    if not _run(copy, snapshot=snapshot, patience=patience).is_complete:
        return
    copy.moves.write_out(copy.id)
    copied_snapshots.take(copy, snapshot)
    copy.moves.forget(copy.id)
    poll_backoff.begin_anew(copy.work)


def is_near(work: Work[Migrate], took: float) -> bool:
    """Count a pass, which took so many seconds. Say whether it was a short one: then so is the cut-over."""
    work.data.passes, work.data.pass_seconds = work.data.passes + 1, round(took, 1)
    # Without writers, there is nothing that another pass could find.
    return bool(work.data.freeze or took <= work.ctx.conf.data_copy_short_pass)


def are_enough(work: Work[Migrate]) -> bool:
    """Say whether there were as many passes as the configuration allows."""
    return bool(work.data.passes >= work.ctx.conf.data_copy_passes)


def warn(work: Work[Migrate], took: float, resource_type: str, action: messages.Action) -> None:
    """Tell the operator that the cut-over will be long; to complete or to cancel is their choice."""
    text = (
        f'The last of {errors.count(work.data.passes, "pass")} took {took:.0f} seconds, and the cut-over will '
        'take about as long, in '
        'which nobody can write.'
    )
    LOG.warning('%s: %s', work.resource_id, text)
    _tell(
        work,
        resource_type,
        {work.resource_id: work.ctx.project_id or ''},
        action,
        messages.Detail.SHARE_CHANGES_FAST,
        text,
    )


def _tell(
    work: Work[Any],
    resource_type: str,
    owners: Mapping[str, str],
    action: messages.Action,
    detail: messages.Detail,
    text: str,
) -> None:
    with work.writer() as conn:
        messages.create_many(conn, work.ctx, resource_type, owners, action, detail, text)


def _run(
    copy: ShareCopy,
    how: Runs = ShareMoves.copy,
    snapshot: values.Snapshot | None = None,
    patience: float = 0.0,
) -> Copy:
    """Return the pass, or the comparison, that runs or has just ended. Start it if there is none. ``snapshot``: the one of the
    source whose content is copied.

    :raises errors.Again: the source does not admit this host yet.
    :raises errors.Final: it failed for good.
    """
    work = copy.work
    keys: tuple[str | None, str | None] = (None, None)
    if not copy.moves.is_running(copy.id):
        keys = host_access.let_in(copy, snapshot), host_access.admit_here(copy)
    try:
        locations = copied_snapshots.locations_of(copy, snapshot) if snapshot else ()
        run = how(
            copy.moves, Side(copy.migration.source, keys[0], snapshot, locations), Side(copy.target, keys[1])
        )
    except CannotMount as bad:
        if work.tries < work.ctx.conf.operations.max_attempts:
            raise
        raise errors.Final(str(bad)) from bad
    if patience:
        run.join(patience)
    _note_progress(copy, run)
    if copy.data.losses is None:
        _tell_losses(copy)
    return run


def _tell_losses(copy: ShareCopy) -> None:
    """Tell the owner, once, which attributes of the files the copy will lack; they can still cancel."""
    losses = copy.moves.losses(copy.id)
    copy.data.losses = list(losses)
    if losses:
        text = f'The host that copies does not see {", ".join(losses)}.'
        LOG.warning('%s: the copy will lack attributes: %s', copy.share_id, text)
        _tell(
            copy.work,
            'SHARE',
            {copy.share_id: copy.project_id},
            messages.Action.MIGRATE_SHARE,
            messages.Detail.ATTRIBUTES_LOST,
            text,
        )


def _note_progress(copy: ShareCopy, run: Copy) -> None:
    """Keep the figures of the first pass: later ones have to copy little of the same files. Those of snapshots are only a
    percentage, since nobody knows yet how much they differ.
    """
    if copy.work.data.passes:
        return
    snapshots, taken = len(copy.migration.snapshots), len(copy.data.snapshots_taken)
    percent = _ALL if run.is_complete else run.messages.percent  # rsync's own stays below that
    figures: dict[str, int] = {'percent': (_ALL * taken + percent) // (snapshots + 1)}
    told = run.messages
    if taken == snapshots:
        if run.is_complete:
            figures |= {'bytes_done': told.bytes_done, 'bytes_total': told.bytes_done}
        elif told.percent:
            figures |= {'bytes_done': told.bytes_done, 'bytes_total': told.bytes_done * _ALL // told.percent}
        if told.files_total:  # known when the first file is complete
            figures |= {'done': told.files_done, 'total': told.files_total}
    copy.data.figures = values.MigrationProgress(**figures)


# Cut-over ---------------------------------------------------------------------------------------------


def catch_up(copy: ShareCopy, interval: float, patience: float = 0.0) -> None:
    """Bring the last changes of the source, which nobody can write to any more, and check the copy. If it differs, a client has
    changed files and set their times back: another pass finds such files by their content, and the copy is checked once more.

    ``interval``: seconds between two looks at a long copy; ``patience`` as for ``advance``.

    :raises errors.Again: it goes on.
    :raises errors.Final: the copy is not the same as the source; with the first paths.
    """
    for part in range(copy.data.part, len(_PARTS)):
        copy.data.part = part
        by_content = part == 0 and copy.data.by_content
        run = _run(copy, ShareMoves.copy_content if by_content else _PARTS[part], patience=patience)
        if not run.is_complete:
            raise poll_backoff.poll_again(copy.work, interval)
        if run.messages.differing:
            raise _copy_by_content(copy, run.messages.differing, interval)
        if part == 0:
            copy.moves.write_out(copy.id)  # the comparison, too, is of what outlives this host
        copy.moves.forget(copy.id)
        poll_backoff.begin_anew(copy.work)
    copy.data.part = len(_PARTS)
    copy.moves.clear(copy.id)


def _copy_by_content(copy: ShareCopy, paths: list[str], interval: float) -> errors.Again:
    """Have the cut-over begin again, with a pass by content. Return what to raise.

    :raises errors.Final: there was such a pass already.
    """
    if copy.data.by_content:
        raise errors.Final(f'After the last pass the copy differs from the share. {differing(paths)}')
    LOG.warning(
        '%s: the copy differs from the share, so there is a pass by content. %s',
        copy.share_id,
        differing(paths),
    )
    copy.data.part, copy.data.by_content = 0, True
    copy.moves.forget(copy.id)
    poll_backoff.begin_anew(copy.work)
    return poll_backoff.poll_again(copy.work, interval)


def serve(copy: ShareCopy) -> None:
    """Admit clients to the target, and this host no more."""
    migration = copy.migration
    results = copy.work.service.driver.update_access(copy.target, list(migration.rules))
    for rule in migration.rules:
        # They are applied, and reported to the owner, once more after the switch.
        if rule.id in results and results[rule.id].error:
            LOG.warning(
                '%s: the destination refuses access rule %s: %s',
                copy.share_id,
                rule.id,
                results[rule.id].error,
            )
