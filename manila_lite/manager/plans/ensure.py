# SPDX-License-Identifier: Apache-2.0
"""Ensuring of all shares of a backend: they are checked, repaired and given their rules again, batch by batch.

One operation per backend goes over its shares by instance id, whatever began it: an administrator, a start, a changed
configuration, the clock. Its data keep its position, so that another process can go on there. Only a run that was asked
for over the API changes statuses: a share is ``ensuring`` while its batch is at the backend. Shares for which the
backend fails are tried again in ever smaller batches, so that one share keeps none from being ensured.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import ensure as ensure_queries
from manila_lite.db.queries import services
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import ensure_results, share_server_updates, share_servers
from manila_lite.operation_data.ensure import EnsureShares, Figures, Reread
from manila_lite.rpc import notices
from manila_lite.workflow import share_network_subnets

LOG = log.getLogger(__name__)

#: Shares in one call of the driver at most; and into how many calls those for which it failed are split.
BATCH, _PART = 250, 8
#: Why a run was begun: an administrator, a start of the service, a change of the backend's fingerprint, the clock,
#: the failure of an administrator's run.
API, START, CHANGED, INTERVAL, RETRY = 'api', 'start', 'changed', 'interval', 'retry'

_IN_ERROR = frozenset(
    {'error', 'error_deleting', 'error_deferred_deleting', 'manage_error', 'unmanage_error'}
)
_MARK = states.SHARE['ensure']
#: The reason may quote a line of the file, so it is not in notifications.
_UNREAD = 'All shares were ensured with the old values, since the configuration could not be read again'


@dataclasses.dataclass(frozen=True)
class Batch:
    """Some shares, as drivers see them. ``marked`` are in status ``ensuring``. ``last`` is where the next batch begins.
    ``doubtful`` are the instances whose rules are in error as a whole.
    """

    targets: Sequence[values.EnsureTarget]
    marked: frozenset[str]
    skipped: int
    last: str
    doubtful: frozenset[str] = frozenset()


def ensure(work: Work[EnsureShares]) -> None:
    """Ask the backend about all its shares, and store the results.

    :raises errors.Again: the process stops, or the backend failed for some shares.
    :raises errors.Final: it failed for some shares too often.
    """
    manager = work.service
    _begin(work)
    if work.data.dry_run:
        _inspect(work)
        return
    mended: dict[str, tuple[str, ...]] = {}
    down = share_servers.restore(
        manager, mended, only=work.data.servers or work.data.server_ids, ctx=work.ctx
    )
    work.data.servers = down
    manager.servers_run()
    _heal(work, down)
    while (batch := _take(work)) is not None:
        results, why = _ask(work, batch, down)
        ensure_results.store(
            work,
            batch,
            _with_servers(batch, results, mended),
            why,
            touches=_touches(work),
            again=work.data.why == API,
        )
    # Only now: servers run again, and their new addresses do not come while they are being checked.
    only = work.data.server_ids or () if work.data.narrow else None
    share_network_subnets.complete_all(context.admin(work.ctx.services), work.op.host, only)
    _look_again(work, down)


def _heal(work: Work[EnsureShares], down: Mapping[str, str]) -> None:
    """Set the servers that the doctor wants to be active again to active, except for those that are ``down``."""
    well = [server_id for server_id in work.data.heal if server_id not in down]
    if not well:
        return
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        share_server_updates.heal(conn, work, well)
        work.data.heal = [server_id for server_id in work.data.heal if server_id in down]
        work.save(conn)


def _touches(work: Work[EnsureShares]) -> bool:
    """Say whether the run may change statuses."""
    own = work.service.section.update_shares_status_on_ensure
    wanted = work.ctx.conf.update_shares_status_on_ensure if own is None else own
    return bool(work.data.why == API and not work.data.dry_run and wanted)


def _passed_over(work: Work[EnsureShares]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the statuses of shares that are not checked, and of those that are only counted.

    After a start, busy shares must be mounted and exported too: their own operations rely on it.
    """
    if work.data.why == START:
        return ensure_queries.NOT_SERVED, frozenset()
    return _IN_ERROR, states.SHARE.transient


def _begin(work: Work[EnsureShares]) -> None:
    """Reset the marks that a dead process left, and begin a new round if one is wanted."""
    data, host = work.data, work.op.host
    first, is_new = data.progress is None, data.round != work.op.wanted
    if is_new:
        if not first:
            data.narrow, data.server_ids, data.dry_run = (
                False,
                None,
                False,
            )  # asked for meanwhile, for all shares
        data.configuration = _reread(work.service, data)
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        transitions.settle(
            conn,
            states.SHARE,
            ensure_queries.list_ensuring_instances(conn, host),
            _MARK.during,
            str(_MARK.ok),
        )
        if is_new:
            _begin_round(conn, work, only=data.only if first else None)
        work.save(conn)
        if first:
            LOG.info('%s: %s shares are ensured (%s)', host, data.figures.total, data.why)
            _emit(work, 'start')


def _begin_round(conn: Connection, work: Work[EnsureShares], only: list[str] | None) -> None:
    """Begin a round over these instances, or over all. The shares after the present position were not checked yet: the round
    goes on there, and ends here.
    """
    data = work.data
    data.round, data.only, data.until, data.wrapped = work.op.wanted, only, '' if only else data.after, False
    data.left, data.broken, data.repairs, data.reasons, data.servers = [], [], {}, {}, {}
    data.passes, data.visited, data.began = 1, False, timeutils.utcnow_ts(microsecond=True)
    data.fingerprint = fingerprint(work.service)
    if only is None and not data.dry_run:
        work.service.ensured_as = data.fingerprint
    data.progress = Figures(
        len(only)
        if only is not None
        else ensure_queries.count_shares(conn, work.op.host, _passed_over(work)[0])
    )


def _reread(manager: Any, data: EnsureShares) -> Reread:
    """Read the backend's section again, and apply changes that need no restart. Return those of this run, or the error."""
    try:
        changes = manager.section_in_files.reread(apply=not data.dry_run)
    except errors.BadConfig as bad:
        LOG.error(
            '[%s] the configuration could not be read again; the old values stay in use: %s',
            manager.name,
            bad,
        )
        return Reread(error=str(bad))
    if changes.applied and not data.dry_run:
        LOG.info('[%s] new values in use: %s', manager.name, ', '.join(changes.applied))
        manager.report_soon()
    if changes.restart:
        LOG.warning(
            '[%s] changed, but needs a restart of the backend: %s', manager.name, ', '.join(changes.restart)
        )
    known = data.configuration.applied if data.configuration else []
    return Reread(sorted({*known, *changes.applied}), list(changes.restart))


def fingerprint(manager: Any) -> str | None:
    """Return a digest of the backend's configuration, or None if the driver gives none or fails."""
    try:
        return ensure_results.digest(manager.driver.fingerprint())
    except Exception:
        LOG.exception('[%s] the backend does not report the dependencies of its shares', manager.name)
        return None


def _take(work: Work[EnsureShares]) -> Batch | None:
    """Mark the next shares as being ensured, if the run changes statuses. Return them, or None after the last.

    :raises errors.Again: the process stops; the next process goes on here.
    """
    if not work.service.worker.runner.may_claim():
        raise errors.Again(0.0)
    skip = _passed_over(work)[1]
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        rows = _next(conn, work)
        free = [row.instance_id for row in rows if row.status in _MARK.allowed] if _touches(work) else []
        marked = frozenset(free)
        if free and transitions.begin_many(conn, states.SHARE, 'ensure', free) < len(free):
            marked = frozenset(ensure_queries.list_ensuring_instances(conn, work.op.host))
    if not rows:
        return None
    mine = [
        row
        for row in rows
        if row.status not in skip and (row.instance_id in marked or row.instance_id not in free)
    ]
    return Batch(
        ensure_results.targets(work.ctx.db, mine),
        marked,
        len(rows) - len(mine),
        rows[-1].instance_id,
        frozenset(row.instance_id for row in mine if row.access_rules_status == states.Rules.ERROR.value),
    )


def _next(conn: Connection, work: Work[EnsureShares]) -> Sequence[Any]:
    data, without = work.data, _passed_over(work)[0]
    while data.only is not None:
        size = min(BATCH, max(1, len(data.only) // _PART))
        instance_ids = [instance_id for instance_id in data.only if instance_id > data.after][:size]
        rows = ensure_queries.list_shares_by_instance(conn, work.op.host, instance_ids, without)
        if rows or not instance_ids:
            return rows
        data.after = instance_ids[-1]
    rows = ensure_queries.list_shares_after(
        conn, work.op.host, data.after, BATCH, without, data.until if data.wrapped else ''
    )
    if not rows and data.until and not data.wrapped:
        data.after, data.wrapped = '', True
        rows = ensure_queries.list_shares_after(conn, work.op.host, '', BATCH, without, data.until)
    return rows


def _ask(
    work: Work[EnsureShares], batch: Batch, down: Mapping[str, str]
) -> tuple[Mapping[str, values.EnsureResult], Mapping[str, str]]:
    """Return the backend's results for the batch, and the reason for each share that has none, by instance id."""
    manager = work.service
    why = {
        target.share.id: f'Its share server does not run. {down[target.share.server.id]}'.rstrip()
        for target in batch.targets
        if target.share.server and target.share.server.id in down
    }
    ready = [target for target in batch.targets if target.share.id not in why]
    results: Mapping[str, values.EnsureResult] = {}
    unsaid = 'The backend did not report on it.'
    try:
        if ready:
            results = {
                instance_id: result
                for instance_id, result in manager.driver.ensure_shares(ready).items()
                if isinstance(result, values.EnsureResult)
            }
    except Exception as error:
        LOG.exception('[%s] %s shares could not be ensured', manager.name, len(ready))
        unsaid = errors.reason(error, work.ctx.request_id)
    return results, why | {target.share.id: unsaid for target in ready if target.share.id not in results}


def _inspect(work: Work[EnsureShares]) -> None:
    """List the repairs that are due, and change nothing. A share without an answer of the backend counts as failed.

    :raises errors.Final: it cannot say it for some shares.
    """
    why = ''
    while (batch := _take(work)) is not None:
        results: Mapping[str, values.EnsureResult] = {}
        try:
            results = work.service.driver.inspect_shares(batch.targets)
            why = 'The backend cannot say it without a repair.'
        except Exception as error:
            LOG.exception('[%s] %s shares could not be inspected', work.service.name, len(batch.targets))
            why = errors.reason(error, work.ctx.request_id)
        ensure_results.store_inspected(work, batch, results, why)
    work.data.visited = True
    if work.data.left:
        raise errors.Final(f'{errors.count(len(work.data.left), "share")} could not be inspected. {why}')


def _with_servers(
    batch: Batch, results: Mapping[str, values.EnsureResult], mended: Mapping[str, tuple[str, ...]]
) -> Mapping[str, values.EnsureResult]:
    """Return the results, with the repairs of a share server added to those of each share on it."""
    repairs = {
        target.share.id: mended.get(target.share.server.id, ())
        for target in batch.targets
        if target.share.server
    }
    return {
        instance_id: dataclasses.replace(result, repaired=(*repairs.get(instance_id, ()), *result.repaired))
        for instance_id, result in results.items()
    }


def _look_again(work: Work[EnsureShares], down: Mapping[str, str]) -> None:
    """Begin another pass if shares or servers are left over.

    :raises errors.Again: some are, and are tried once more.
    :raises errors.Final: some are, and were tried often enough.
    """
    data, conf = work.data, work.ctx.conf.operations
    data.visited = True
    data.figures.failed, data.figures.seconds_left = len(data.left), None
    if not (data.left or down):
        if unread := _unread(data):
            raise errors.Final(f'{_UNREAD}: {unread}')
        return
    if data.passes < conf.max_attempts:
        data.only, data.left, data.after, data.passes = sorted(data.left), [], '', data.passes + 1
        raise errors.Again(conf.retry_delay * 2 ** (data.passes - 2))
    parts = [
        errors.count(len(resource_ids), name)
        for resource_ids, name in ((data.left, 'share'), (down, 'share server'))
        if resource_ids
    ]
    raise errors.Final(f'{" and ".join(parts)} could not be ensured. {data.last_error}'.strip())


def _unread(data: EnsureShares) -> str | None:
    """Return why the configuration could not be read again, if an administrator's run ensured all shares with the old one."""
    if data.why != API or data.configuration is None or data.left or data.servers:
        return None
    return data.configuration.error


# End of a run -------------------------------------------------------------------------------------


def done(conn: Connection, work: Work[EnsureShares]) -> None:
    """End the service's mark of a run, and store with which configuration its shares were ensured."""
    data = work.data
    whole = not (data.narrow or data.dry_run)
    services.set_ensuring(
        conn,
        work.op.host,
        False,
        **({'ensured_at': ensure_results.now(), 'ensured_as': data.fingerprint} if whole else {}),
    )
    data.after = ''  # if it was asked for meanwhile, all shares are checked once more
    work.save(conn)
    LOG.info('%s: all shares were ensured: %s', work.op.host, data.progress)
    _emit(work, 'end')


def failed(conn: Connection, work: Work[EnsureShares], error: Exception) -> None:
    """Reset the shares for which the backend failed, tell their owners, and end the service's mark of a run."""
    services.set_ensuring(conn, work.op.host, False)
    if work.data.dry_run:
        work.save(conn)
        _emit(work, 'error', error=errors.reason(error, work.ctx.request_id))
        return
    instance_ids = ensure_queries.list_ensuring_instances(conn, work.op.host)
    transitions.settle(conn, states.SHARE, instance_ids, _MARK.during, _MARK.fail)
    work.save(conn)
    if work.data.why == API and (work.data.left or work.data.servers):
        work.service.failed_run = work.op.id  # automatic runs are tried again by those that began them
    ensure_results.report_failure(conn, work, {*instance_ids, *work.data.left}, again=work.data.why == API)
    _emit(work, 'error', error=_UNREAD if _unread(work.data) else errors.reason(error, work.ctx.request_id))


def _emit(work: Work[EnsureShares], event: str, **more: Any) -> None:
    data = work.data
    notices.emit(
        work.ctx,
        f'share.ensure.{event}',
        {
            'host': work.op.host,
            'why': data.why,
            'dry_run': data.dry_run,
            **(dataclasses.asdict(data.progress) if data.progress else {}),
            'repairs': data.repairs,
            'configuration': data.configuration.changes if data.configuration else {},
            **more,
        },
        host=work.op.host,
    )


PLANS = [Plan(ensure_queries.KIND, (Step(ensure),), done, failed, data=EnsureShares)]
