# SPDX-License-Identifier: Apache-2.0
"""Migration of a share by this host, the destination's, between backends of any drivers: it mounts both sides and copies.

The life cycle is that of ``migration.py``: ``calls`` is what it calls in place of a driver. ``host_access.py`` lets this host
in at both sides.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from oslo_log import log

from manila_lite import errors, values
from manila_lite.db.queries import messages, shares
from manila_lite.drivers.data_mover.clients import Side
from manila_lite.drivers.data_mover.rsync import Copy
from manila_lite.drivers.data_mover.share_moves import CannotMount, ShareMoves, differing
from manila_lite.engine import Work
from manila_lite.manager.plans import copied_snapshots, copy_checks, host_access
from manila_lite.manager.plans.migration import DriverCalls

LOG = log.getLogger(__name__)

_ALL = 100
#: Keys of the operation's data: whether this host copies; the number of passes, and the seconds that the last one took; the
#: number of the part that the cut-over has reached; what the copy lacks, once that is told.
BY_HOST = 'by_host'
_PASSES, _PASS_TOOK, _PART, _LOSSES = 'passes', 'pass_seconds', 'part', 'losses'
#: What ``ShareMoves`` does at the cut-over, in order.
Runs = Callable[[ShareMoves, Side, Side], Copy]
_PARTS: tuple[Runs, ...] = (ShareMoves.copy, ShareMoves.compare, ShareMoves.compare_some)


def is_wanted(work: Work, support: dict[str, Any] | None) -> bool:
    """Say whether this host should copy: it has to, or it may and the driver, which gave this answer, does not."""
    assist = work.data.get('assist')
    return assist == 'must' or bool(assist == 'may' and support is not None and not support['compatible'])


def check(work: Work, migration: values.ShareMigration) -> dict[str, Any]:
    """Return the abilities of this host, in the form in which the data of a check have those of a driver."""
    return {BY_HOST: True, **dataclasses.asdict(_support(work, migration))}


def _support(work: Work, migration: values.ShareMigration) -> values.MigrationSupport:
    reason = work.service.moves.objection(migration.source) or copied_snapshots.objection(work, migration)
    return values.MigrationSupport(not reason, writable=work.service.section.migration_keep_writable, preserve_snapshots=True,
                                   migration_cancel=True, migration_get_progress=True, reason=reason)


def calls(work: Work) -> DriverCalls:
    """Return the methods that the steps of a migration call in place of those of a driver."""
    return DriverCalls(
        check=functools.partial(_support, work), start=functools.partial(_start, work),
        carry_on=functools.partial(_carry_on, work), progress=functools.partial(_progress, work),
        complete=functools.partial(_complete, work), cancel=functools.partial(_cancel, work))


# Phase one --------------------------------------------------------------------------------------------

def _start(work: Work, migration: values.ShareMigration) -> None:
    """Create the target, which is empty and admits nobody but this host."""
    host_access.admit_here(work, migration)


def _carry_on(work: Work, migration: values.ShareMigration) -> bool:
    """Copy the snapshots, then the share in passes. Return whether the last one was short, or there were enough."""
    if snapshot := copied_snapshots.next_of(work, migration):
        _copy_snapshot(work, migration, snapshot)
        return False
    run = _run(work, migration)
    if not run.is_complete:
        return False
    work.service.moves.write_out(migration.id)
    data, conf = work.data, work.ctx.conf
    data[_PASSES], data[_PASS_TOOK] = data.get(_PASSES, 0) + 1, round(run.took, 1)
    # Without writers, there is nothing that another pass could find.
    is_near = data['freeze'] or run.took <= conf.data_copy_short_pass
    if not is_near and data[_PASSES] < conf.data_copy_passes:
        work.service.moves.forget(migration.id)
        copy_checks.begin_anew(work)
        return False
    work.service.moves.clear(migration.id)      # nothing stays mounted while an operator thinks
    copy_checks.begin_anew(work)
    if not is_near:
        _warn(work, run.took)
    return True


def _copy_snapshot(work: Work, migration: values.ShareMigration, snapshot: values.Snapshot) -> None:
    """Bring the target to the content of the snapshot, and take the snapshot there."""
    if not _run(work, migration, snapshot=snapshot).is_complete:
        return
    work.service.moves.write_out(migration.id)
    copied_snapshots.take(work, snapshot, host_access.target(work, migration))
    work.service.moves.forget(migration.id)
    copy_checks.begin_anew(work)


def _warn(work: Work, took: float) -> None:
    """Tell the operator that the cut-over will be long; to complete or to cancel is their choice."""
    text = (f'The last of {work.data[_PASSES]} passes took {took:.0f} seconds, and the cut-over will take about as long, in '
            'which nobody can write.')
    LOG.warning('%s: %s', work.resource_id, text)
    _tell(work, messages.Detail.SHARE_CHANGES_FAST, text)


def _tell(work: Work, detail: messages.Detail, text: str) -> None:
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        messages.create(conn, work.ctx, 'SHARE', work.resource_id, messages.Action.MIGRATE_SHARE, detail, text)


def _run(work: Work, migration: values.ShareMigration, how: Runs = ShareMoves.copy,
         snapshot: values.Snapshot | None = None) -> Copy:
    """Return the pass, or the comparison, that runs or has just ended. Start it if there is none. ``snapshot``: the one of the
    source whose content is copied.

    :raises errors.Again: the source does not admit this host yet.
    :raises errors.Final: it failed for good.
    """
    moves: ShareMoves = work.service.moves
    keys: tuple[str | None, str | None] = (None, None)
    if not moves.is_running(migration.id):
        keys = host_access.let_in(work, migration, snapshot), host_access.admit_here(work, migration)
    try:
        locations = copied_snapshots.locations_of(work, snapshot) if snapshot else ()
        target = Side(host_access.target(work, migration), keys[1])
        run = how(moves, Side(migration.source, keys[0], snapshot, locations), target)
    except CannotMount as bad:
        if work.tries < work.ctx.conf.operations.max_attempts:
            raise
        raise errors.Final(str(bad)) from bad
    _note_progress(work, migration, run)
    if _LOSSES not in work.data:
        _tell_losses(work, moves.losses(migration.id))
    return run


def _tell_losses(work: Work, losses: Sequence[str]) -> None:
    """Tell the owner, once, which attributes of the files the copy will lack; they can still cancel."""
    work.data[_LOSSES] = list(losses)
    if losses:
        text = f'The file server of the source does not show {" and ".join(losses)}.'
        LOG.warning('%s: the copy will lack attributes: %s', work.resource_id, text)
        _tell(work, messages.Detail.ATTRIBUTES_LOST, text)


def _note_progress(work: Work, migration: values.ShareMigration, run: Copy) -> None:
    """Keep the figures of the first pass: later ones have to copy little of the same files. Those of snapshots are only a
    percentage, since nobody knows yet how much they differ.
    """
    if work.data.get(_PASSES):
        return
    before = copied_snapshots.share_done(work, migration)
    figures: dict[str, int] = {'percent': int(_ALL * before + run.percent * (1 / (len(migration.snapshots) + 1)))}
    if len(copied_snapshots.taken(work)) < len(migration.snapshots):
        work.data['figures'] = figures
        return
    if run.is_complete:
        figures |= {'bytes_done': run.bytes_done, 'bytes_total': run.bytes_done}
    elif run.percent:
        figures |= {'bytes_done': run.bytes_done, 'bytes_total': run.bytes_done * _ALL // run.percent}
    if run.files_total:     # known when the first file is complete
        figures |= {'done': run.files_done, 'total': run.files_total}
    work.data['figures'] = figures


def _progress(work: Work, migration: values.ShareMigration) -> values.MigrationProgress:
    """Return the progress of the first pass."""
    return values.MigrationProgress(**{'percent': 0, **work.data.get('figures', {})})


# Cut-over ---------------------------------------------------------------------------------------------

def catch_up(work: Work, migration: values.ShareMigration) -> None:
    """Bring the last changes of the source, which nobody can write to any more, and check the copy; then admit clients.

    :raises errors.Again: it goes on.
    :raises errors.Final: the copy is not the same as the source; with the first paths.
    """
    for part in range(work.data.get(_PART, 0), len(_PARTS)):
        work.data[_PART] = part
        run = _run(work, migration, _PARTS[part])
        if not run.is_complete:
            raise copy_checks.look_again(work, work.service.section.migration_driver_continue_update_interval)
        if run.differing:
            raise errors.Final(f'After the last pass the copy differs from the share. {differing(run.differing)}')
        if part == 0:
            work.service.moves.write_out(migration.id)      # the comparison, too, is of what outlives this host
        work.service.moves.forget(migration.id)
        copy_checks.begin_anew(work)
    work.service.moves.clear(migration.id)
    results = work.service.driver.update_access(host_access.target(work, migration), list(migration.rules))
    for rule in migration.rules:
        # They are applied, and reported to the owner, once more after the switch.
        if rule.id in results and results[rule.id].error:
            LOG.warning('%s: the destination refuses access rule %s: %s', work.resource_id, rule.id, results[rule.id].error)


def _complete(work: Work, migration: values.ShareMigration) -> values.MigratedShare:
    """Return where the share is now: the target serves already."""
    return values.MigratedShare(host_access.target(work, migration).export_locations, copied_snapshots.taken(work))


# End --------------------------------------------------------------------------------------------------

def _cancel(work: Work, migration: values.ShareMigration) -> None:
    """Stop the copy, and delete the target. The source is told when its own rules are applied anew."""
    work.service.moves.clear(migration.id)
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        shares.update_instance(conn, migration.id, copier=None, copier_key=None)
    copied_snapshots.delete(work, migration)
    work.service.driver.delete_share(migration.target)


def clean(service: Any) -> None:
    """End copies on this host that no migration needs any more, and unmount what they left."""
    for target in sorted(service.moves.left()):
        with service.services.db.reader() as conn:
            if any(row.status == 'migrating_to' for row in shares.list_second_instances(conn, instance_id=target)):
                continue
        LOG.warning('Migration %s: the rest of an abandoned copy is removed', target)
        _clear(service, target)


def leave(service: Any) -> None:
    """Unmount everything of copies on this host, since another one goes on with them."""
    for target in sorted(service.moves.left()):
        _clear(service, target)


def _clear(service: Any, target: str) -> None:
    try:
        service.moves.clear(target)
    except Exception:
        LOG.exception('Migration %s: something is left of a copy', target)
