# SPDX-License-Identifier: Apache-2.0
"""Runs of schedules. A scheduler that finds a schedule due sets its next time and begins an operation, in one transaction.

So each time is run once, and after a crash the engine goes on with it. The operation begins the copies of all shares that the
schedule selects, waits until they are made, and deletes those that retention does not keep.
"""

import datetime
from collections.abc import Iterator
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, engine, errors
from manila_lite.db.core import host_time
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import messages
from manila_lite.db.queries import schedules as rows
from manila_lite.db.queries import services as service_rows
from manila_lite.engine import Plan, Step, Work
from manila_lite.host import clock
from manila_lite.operation_data.schedules import RunSchedule
from manila_lite.scheduler import schedule_copies
from manila_lite.values import retention, schedule_times
from manila_lite.workflow import share_replicas

LOG = log.getLogger(__name__)

#: What a schedule does about times that it missed, if it does not make up for them once.
SKIP = 'skip'
#: A run that is later than this was missed: no scheduler ran.
_LATE = datetime.timedelta(minutes=5)
#: Schedules that one look begins at most.
_AT_ONCE = 100
#: Seconds between tries for shares that are busy, and for how long after the beginning of the run.
_RETRY, _RETRY_FOR = 5.0, 600.0
#: Seconds between looks at copies: a part of the run's age within these bounds; and after which it waits no longer.
_LOOK, _SELDOM, _PART, _WAIT_FOR = 0.5, 60.0, 1 / 10, 24 * 3600.0
#: The code of a good run that deleted less than it should, so that the next one does not tell it again.
_KEPT = 'copy_kept'
#: Refusals of one copy. Others may be made all the same.
_REFUSALS = (errors.Invalid, errors.Conflict, errors.NotFound, errors.OverQuota, errors.Forbidden)


def begin_due(services: context.Services) -> None:
    """Begin a run of each schedule whose time has come. Several schedulers may do so at once."""
    with services.db.reader() as conn:
        now = host_time.now(conn)
        due = rows.list_due(conn, now, _AT_ONCE)
        if due and (older := _find_older(conn, services.conf)):
            LOG.info(
                'schedules wait for the upgrade of the scheduler on %s, which would park their runs', older
            )
            return
    for schedule in due:
        try:
            _begin(services, schedule, now)
        except errors.WrongState:
            LOG.debug('%s: another scheduler has begun this run', schedule.id)
        except Exception:
            LOG.exception('%s: this schedule could not be begun; it is tried again', schedule.id)


def _find_older(conn: Connection, conf: Any) -> str | None:
    """Return the host of a running scheduler of a release that knows no schedules, or None."""
    found = service_rows.list_services(conn, {'binary': 'manila-scheduler'})
    told = service_rows.release_of
    return next((row.host for row in found if service_rows.is_running(row, conf) and told(row) is None), None)


def _begin(services: context.Services, schedule: Row[Any], now: datetime.datetime) -> None:
    """Set the next time, and begin the run. If the clock went back, no time comes twice."""
    due = schedule.next_run_at
    following = schedule_times.following(
        schedule.cron,
        schedule.time_zone,
        max(now, due),
        schedule_times.offset_of(schedule.id, schedule.jitter),
    )
    skipped = schedule.missed == SKIP and now - due > _LATE
    ctx = context.admin(services, schedule.project_id, schedule.user_id)
    with services.db.writer() as conn:
        if not rows.claim(conn, schedule.id, due, following):
            return
        if not skipped:
            engine.begin(
                conn,
                ctx,
                rows.KIND,
                rows.OF_ALL_PROJECTS if schedule.all_projects else rows.RESOURCE_TYPE,
                schedule.id,
                topic='scheduler',
                unique_key=rows.unique_key(schedule.id),
                data=RunSchedule(run_at=due),
                owner=schedule.project_id,
            )
    if skipped:
        LOG.warning('%s: the run of %s was missed, and is skipped', schedule.id, due)


# The run ------------------------------------------------------------------------------------------


def make(work: Work[RunSchedule]) -> None:
    """Begin to make a copy of each share that the schedule selects, and one of each group of theirs; or resync replicas.

    :raises errors.Again: shares are busy, and are tried once more.
    """
    data = work.data
    with work.ctx.db.reader() as conn:
        schedule = rows.find(conn, work.resource_id)
        if schedule is None:
            return
        sources = rows.list_sources(conn, schedule)
        copies = rows.list_copies(conn, schedule.id)
    if schedule.action == rows.RESYNC:
        _resync(work, sources)
        return
    targets = list(_targets(schedule, sources))
    made = {copy.source_id for copy in copies if copy.run_at == data.run_at}
    unfinished = {copy.source_id for copy in copies if schedule_copies.is_being_made(copy)} - made
    tried, busy = data.waiting, []
    retry = (clock.without_jumps() - work.op.created_at).total_seconds() <= _RETRY_FOR
    for resource_type, source in targets:
        if source.id in made or (tried is not None and source.id not in tried):
            continue
        ctx = schedule_copies.owner(work, source.project_id, _user(schedule, source))
        try:
            if source.id in unfinished:
                raise errors.WrongState(f'The copy of {source.id} that was begun before is not finished yet.')
            schedule_copies.make(work, ctx, schedule, resource_type, source.id)
        except errors.WrongState as refused:
            again = retry and not source.is_broken
            if again:
                busy.append(source.id)
            else:
                data.refuse(refused.code, str(refused))
        except _REFUSALS as refused:
            LOG.info('%s: schedule %s cannot copy it: %s', source.id, schedule.id, refused)
            data.refuse(refused.code, str(refused))
    data.waiting = busy
    if busy:
        raise errors.Again(_RETRY)


def _resync(work: Work[RunSchedule], sources: list[rows.Source]) -> None:
    """Have the replicas of the shares brought up to date. It may be asked for twice: what is under way counts."""
    for source in sources:
        with work.ctx.db.writer() as conn:
            work.hold(conn)
            share_replicas.resync_all(conn, work.ctx, source.id)


def _targets(schedule: Row[Any], sources: list[rows.Source]) -> Iterator[tuple[str, rows.Source]]:
    """Yield the type of each copy to make, and what it is of. Shares of a group are snapped together, with all its others."""
    groups = set()
    for source in sources:
        if schedule.action != schedule_copies.SNAPSHOT:
            yield schedule_copies.BACKUP, source
        elif source.share_group_id is None:
            yield schedule_copies.SNAPSHOT, source
        elif source.share_group_id not in groups:
            groups.add(source.share_group_id)
            yield schedule_copies.GROUP_SNAPSHOT, source._replace(id=source.share_group_id)


def _user(schedule: Row[Any], source: rows.Source) -> str | None:
    return source.user_id if schedule.all_projects else schedule.user_id


def wait(work: Work[RunSchedule]) -> None:
    """Wait until all copies of this run are made, or the next run is due.

    :raises errors.Again: some are not.
    """
    with work.ctx.db.reader() as conn:
        now = host_time.now(conn)
        schedule = rows.find(conn, work.resource_id)
        copies = rows.list_copies(conn, work.resource_id, work.data.run_at)
    if schedule is None:
        return
    age = (now - work.op.created_at).total_seconds()
    is_next_due = schedule.next_run_at is not None and schedule.next_run_at <= now
    unfinished = [copy for copy in copies if schedule_copies.is_being_made(copy)]
    if unfinished and not is_next_due and age < _WAIT_FOR:
        raise errors.Again(min(max(age * _PART, _LOOK), _SELDOM))
    for copy in copies:
        if schedule_copies.state_of(copy) is retention.State.FAILED:
            work.data.refuse('copy_failed', f'{_name(copy)} of {copy.source_id} ended in {copy.status}.')
    for copy in unfinished:
        work.data.refuse('copy_unfinished', f'{_name(copy)} of {copy.source_id} was not finished in time.')


def _name(copy: rows.Copy) -> str:
    return f'{copy.resource_type.replace("_", " ").capitalize()} {copy.id}'


def retain(work: Work[RunSchedule]) -> None:
    """Delete what retention does not keep, of what the schedule made.

    :raises errors.Final: the run was not good.
    """
    with work.ctx.db.reader() as conn:
        schedule = rows.find(conn, work.resource_id)
        copies = rows.list_copies(conn, work.resource_id)
    if schedule is None:
        return
    mine: dict[str, list[rows.Copy]] = {}
    for copy in copies:
        if _is_of(schedule, copy):
            mine.setdefault(copy.source_id, []).append(copy)
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        rows.forget_copies(conn, [copy.id for copy in copies if not _is_of(schedule, copy)])
        rows.mark_good(conn, [copy.id for copy in copies if _is_newly_good(copy)])
    for of_source in mine.values():
        _retain(work, schedule, of_source)
    if work.data.refused:
        raise errors.Final(_told(work.data), code=work.data.code)


def _is_of(schedule: Row[Any], copy: rows.Copy) -> bool:
    """Say whether the copy is there, and has not gone to another project with its share."""
    return copy.status is not None and (schedule.all_projects or copy.project_id == schedule.project_id)


def _is_newly_good(copy: rows.Copy) -> bool:
    return not copy.was_good and schedule_copies.state_of(copy) is retention.State.GOOD


def _retain(work: Work[RunSchedule], schedule: Row[Any], copies: list[rows.Copy]) -> None:
    """Delete what is not kept of the copies of one share or group. What may not be deleted is tried again by the next run."""
    by_id = {copy.id: copy for copy in copies}
    known = [retention.Copy(copy.id, copy.run_at, schedule_copies.state_of(copy)) for copy in copies]
    for copy_id in retention.expired(known, schedule.keep, schedule.time_zone):
        copy = by_id[copy_id]
        try:
            schedule_copies.delete(work, schedule_copies.owner(work, copy.project_id, schedule.user_id), copy)
        except errors.Forbidden as refused:
            work.data.refuse(refused.code, f'{_name(copy)} cannot be deleted: {refused}')
        except _REFUSALS as refused:
            LOG.info('%s: schedule %s cannot delete it yet: %s', copy_id, schedule.id, refused)
            work.data.kept = work.data.kept or f'{_name(copy)}: {refused}'


def _told(data: RunSchedule) -> str:
    return f'{errors.count(data.refused, "problem")} in the run of {data.run_at:%Y-%m-%d %H:%M} UTC. {data.reason}'


# Its end ------------------------------------------------------------------------------------------


def done(conn: Connection, work: Work[RunSchedule]) -> None:
    """Note that all is good. The owner gets a message if a copy stays, and none stayed in the last run."""
    schedule = rows.find(conn, work.resource_id)
    if schedule is None:
        return
    at, code = work.data.run_at, _KEPT if work.data.kept else None
    good = {'failing_since': None, 'problem_code': code, 'problem': None}
    rows.update(conn, schedule.id, last_run_at=at, last_good_at=at, **good)
    if code != schedule.problem_code and code:
        _tell(conn, work, schedule, messages.Detail.COPY_KEPT, work.data.kept)


def failed(conn: Connection, work: Work[RunSchedule], error: Exception) -> None:
    """Note the problem. The owner gets a message if the last run did not have it."""
    schedule = rows.find(conn, work.resource_id)
    if schedule is None:
        return
    code = work.data.code or getattr(error, 'code', errors.ManilaLiteError.code)
    text = errors.reason(error, work.ctx.request_id)
    rows.update(
        conn,
        schedule.id,
        last_run_at=work.data.run_at,
        failing_since=schedule.failing_since or timeutils.utcnow(),
        problem_code=code,
        problem=text,
    )
    if code != schedule.problem_code:
        _tell(conn, work, schedule, messages.Detail.UNKNOWN_ERROR, text)


def _tell(
    conn: Connection, work: Work[RunSchedule], schedule: Row[Any], detail: messages.Detail, text: str
) -> None:
    """Tell the owner. Members of the project of an administrator see the message, too, and no shares of other projects."""
    if schedule.all_projects:
        text = 'The schedule of all projects has a problem.'
    messages.create(conn, work.ctx, 'SCHEDULE', schedule.id, messages.Action.RUN_SCHEDULE, detail, text)


PLANS = [Plan(rows.KIND, (Step(make), Step(wait), Step(retain)), done, failed, data=RunSchedule)]
