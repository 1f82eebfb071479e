# SPDX-License-Identifier: Apache-2.0
"""Runs that ensure the shares of a backend: they check and repair them, and apply their access rules again, batch by batch.

A backend has one run at a time, whoever asked for it. It goes over the shares by instance id. Its data have its position, so
that another process can go on there. Only a run that an administrator requested changes statuses: a share is ``ensuring``
while the backend works on its batch. Shares that the backend fails to ensure are tried again in ever smaller batches, so that
none keeps others from being ensured. ``doc/source/contributor/follow-an-ensure-run.rst`` shows the states.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import ensure as ensure_queries
from manila_lite.db.queries import services
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import ensure_results, share_server_updates, share_server_upkeep
from manila_lite.manager.plans.ensure_results import Answer, Batch
from manila_lite.operation_data.ensure import START, EnsureShares, Reread
from manila_lite.rpc import notifications
from manila_lite.workflow import share_network_subnets

LOG = log.getLogger(__name__)

#: Most shares in one call of the driver. In later passes: the number of calls among which the shares that are left are divided.
BATCH, _PART = 250, 8

_IN_ERROR = frozenset(
    {'error', 'error_deleting', 'error_deferred_deleting', 'manage_error', 'unmanage_error'}
)
#: The statuses of shares that a run does not look at, and of those that it only counts. After a start it looks at all that the
#: backend may have, since other operations rely on their mounts and exports.
_USUALLY = (_IN_ERROR, states.SHARE.transient)
_BY_REASON = {START: (ensure_queries.NOT_SERVED, frozenset[str]())}
_ENSURE = states.SHARE['ensure']
#: Notifications have this instead of the error, which may quote a line of the configuration file.
_UNREAD = 'All shares were ensured with the old values, since the configuration could not be read again'

#: Asks the driver about shares.
Ask = Callable[[Sequence[values.EnsureTarget]], Mapping[str, values.EnsureResult]]


class Run:
    """A run, for as long as one process works on it. Its methods are its states, in order; ``data`` is its stored record."""

    def __init__(self, work: Work[EnsureShares]):
        self.work, self.data, self.manager, self.host = work, work.data, work.service, work.op.host
        self._db = work.ctx.db
        self._left_out, self._skipped = _BY_REASON.get(work.data.why, _USUALLY)
        self._mended: dict[str, tuple[str, ...]] = {}  # repairs of share servers, by id

    def go(self) -> None:
        """Go through the states.

        :raises errors.Again: the process stops, or another pass is due.
        :raises errors.Final: some shares could not be ensured, and were tried often enough.
        """
        self.begin()
        if self.data.dry_run:
            self.inspect()
            return
        self.restore_servers()
        self.check_shares()
        self.complete_subnets()
        self.conclude()

    # States ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Reset the statuses that a dead process left behind. Begin a round if the run is new, or was requested again."""
        data = self.data
        is_new, is_due = data.progress is None, data.round != self.work.op.requested_count
        if is_due:
            if not is_new:  # it was requested again meanwhile, for all shares
                data.narrow, data.only, data.server_ids, data.dry_run = False, None, None, False
            data.configuration = self._reread()
        with self.work.writer() as conn:
            ensuring = ensure_queries.list_ensuring_instances(conn, self.host)
            transitions.settle(conn, states.SHARE, ensuring, _ENSURE.during, str(_ENSURE.ok))
            if is_due:
                now, total = fingerprint(self.manager), len(data.only or ())
                if data.only is None:
                    total = ensure_queries.count_shares(conn, self.host, self._left_out)
                    if not data.dry_run:
                        self.manager.ensured_as = now
                data.begin_round(self.work.op.requested_count, total, now)
            self.work.save(conn)
            if is_new:
                LOG.info('%s: %s shares are ensured (%s)', self.host, data.figures.total, data.why)
                self._emit('start')

    def inspect(self) -> None:
        """List the repairs that are due, and change nothing. A share without an answer of the backend counts as failed.

        :raises errors.Final: the backend gave no answer for some shares.
        """
        why = ''
        while (batch := self._take()) is not None:
            answers, why = self._ask(
                self.manager.driver.inspect_shares,
                batch.targets,
                'The backend cannot say it without a repair.',
            )
            ensure_results.note(self.data, batch, answers)
            with self._db.writer() as conn:
                self.work.save(conn)
        self.data.visited = True
        if self.data.left:
            raise errors.Final(f'{errors.count(len(self.data.left), "share")} could not be inspected. {why}')

    def restore_servers(self) -> None:
        """Bring share servers up again; in later passes only those that do not run. Set those to active that should heal."""
        data = self.data
        data.servers = share_server_upkeep.restore(
            self.manager, self._mended, only=data.servers or data.server_ids, ctx=self.work.ctx
        )
        self.manager.servers_run()
        well = [server_id for server_id in data.heal if server_id not in data.servers]
        if well:
            with self.work.writer() as conn:
                share_server_updates.heal(conn, self.work, well)
                data.heal = [server_id for server_id in data.heal if server_id in data.servers]
                self.work.save(conn)

    def check_shares(self) -> None:
        """Have the backend check and repair one batch of shares after the other, and store its answers."""
        while (batch := self._take()) is not None:
            answers, _ = self._ask(
                self.manager.driver.ensure_shares, batch.targets, 'The backend did not report on it.'
            )
            ensure_results.store(self.work, batch, answers)

    def complete_subnets(self) -> None:
        """Begin to put share servers into the subnets that they lack. Not before the shares are checked: an address that comes
        during the check would count as a defect.
        """
        only = self.data.server_ids or () if self.data.narrow else None
        share_network_subnets.complete_all(context.admin(self.work.ctx.services), self.host, only)

    def conclude(self) -> None:
        """End the run, or begin another pass if shares or share servers are left.

        :raises errors.Again: another pass is due.
        :raises errors.Final: there were enough passes.
        """
        data, conf = self.data, self.work.ctx.conf.operations
        data.visited = True
        data.figures.failed, data.figures.seconds_left = len(data.left), None
        if not (data.left or data.servers):
            if data.unread:
                raise errors.Final(f'{_UNREAD}: {data.unread}')
            return
        if data.passes < conf.max_attempts:
            data.only, data.left, data.after, data.passes = sorted(data.left), [], '', data.passes + 1
            raise errors.Again(conf.retry_delay * 2 ** (data.passes - 2))
        parts = [
            errors.count(len(resource_ids), name)
            for resource_ids, name in ((data.left, 'share'), (data.servers, 'share server'))
            if resource_ids
        ]
        raise errors.Final(f'{" and ".join(parts)} could not be ensured. {data.last_error}'.strip())

    def done(self, conn: Connection) -> None:
        """Note that the service is not ensuring any more, and with which configuration its shares were ensured."""
        data = self.data
        whole = not (data.narrow or data.dry_run)
        noted = {'ensured_at': timeutils.utcnow(), 'ensured_as': data.fingerprint} if whole else {}
        services.set_ensuring(conn, self.host, False, **noted)
        data.after = ''  # another round, if one was requested meanwhile, goes over all shares
        self.work.save(conn)
        LOG.info('%s: all shares were ensured: %s', self.host, data.progress)
        self._emit('end')

    def failed(self, conn: Connection, error: Exception) -> None:
        """Note that the service is not ensuring any more. Reset the last batch; tell the owners of the shares that are left."""
        data = self.data
        services.set_ensuring(conn, self.host, False)
        why = errors.reason(error, self.work.ctx.request_id)
        if data.dry_run:
            self.work.save(conn)
            self._emit('error', error=why)
            return
        ensuring = ensure_queries.list_ensuring_instances(conn, self.host)
        transitions.settle(conn, states.SHARE, ensuring, _ENSURE.during, _ENSURE.fail)
        self.work.save(conn)
        if data.is_requested and (data.left or data.servers):
            # ``startup`` begins another run, as after the failure of a run that it began itself.
            self.manager.failed_run = self.work.op.id
        ensure_results.report_failure(conn, self.work, {*ensuring, *data.left})
        self._emit('error', error=_UNREAD if data.unread else why)

    # Parts of the states --------------------------------------------------------------------------

    def _reread(self) -> Reread:
        """Read the backend's section again, and apply the changes that need no restart. Return all changes of this run."""
        data, name = self.data, self.manager.name
        try:
            changes = self.manager.section_in_files.reread(apply=not data.dry_run)
        except errors.BadConfig as bad:
            LOG.error(
                '[%s] the configuration could not be read again; the old values stay in use: %s', name, bad
            )
            return Reread(error=str(bad))
        if changes.applied and not data.dry_run:
            LOG.info('[%s] new values in use: %s', name, ', '.join(changes.applied))
            self.manager.report_soon()
        if changes.restart:
            LOG.warning(
                '[%s] changed, but needs a restart of the backend: %s', name, ', '.join(changes.restart)
            )
        known = data.configuration.applied if data.configuration else []
        return Reread(sorted({*known, *changes.applied}), list(changes.restart))

    @property
    def _changes_statuses(self) -> bool:
        own = self.manager.section.update_shares_status_on_ensure
        may = self.work.ctx.conf.update_shares_status_on_ensure if own is None else own
        return bool(may and self.data.is_requested and not self.data.dry_run)

    def _take(self) -> Batch | None:
        """Take the next shares, and mark them if the run changes statuses. Return None after the last.

        :raises errors.Again: the process stops, and another one goes on here.
        """
        if not self.manager.worker.runner.may_claim():
            raise errors.Again(0.0)
        with self.work.writer() as conn:
            rows = self._next(conn)
            sets_status = self._changes_statuses
            free = [row.instance_id for row in rows if sets_status and row.status in _ENSURE.allowed]
            ensuring = frozenset(free)
            if free and transitions.begin_many(conn, states.SHARE, 'ensure', free) < len(free):
                ensuring = frozenset(ensure_queries.list_ensuring_instances(conn, self.host))
        if not rows:
            return None
        others = set(free) - ensuring  # their status changed meanwhile
        mine = [row for row in rows if row.status not in self._skipped and row.instance_id not in others]
        return Batch(
            ensure_results.targets(self._db, mine),
            ensuring,
            len(rows) - len(mine),
            rows[-1].instance_id,
            frozenset(row.instance_id for row in mine if row.access_rules_status == states.Rules.ERROR.value),
        )

    def _next(self, conn: Connection) -> Sequence[Any]:
        """Return the rows of the next shares, those of this pass or of the round."""
        data = self.data
        while data.only is not None:
            size = min(BATCH, max(1, len(data.only) // _PART))
            instance_ids = [instance_id for instance_id in data.only if instance_id > data.after][:size]
            rows = ensure_queries.list_shares_by_instance(conn, self.host, instance_ids, self._left_out)
            if rows or not instance_ids:
                return rows
            data.after = instance_ids[-1]
        until = data.until if data.wrapped else ''
        rows = ensure_queries.list_shares_after(conn, self.host, data.after, BATCH, self._left_out, until)
        if rows or data.wrapped or not data.until:
            return rows
        data.after, data.wrapped = '', True
        return self._next(conn)

    def _ask(self, ask: Ask, targets: Sequence[values.EnsureTarget], unsaid: str) -> tuple[list[Answer], str]:
        """Ask the backend about the shares whose share server runs. Return an answer for each share, and the reason in use
        where the backend gave none: ``unsaid``, or its error.
        """
        down = {
            target.share.id: f'Its share server does not run. {self.data.servers[target.share.server.id]}'.rstrip()
            for target in targets
            if target.share.server and target.share.server.id in self.data.servers
        }
        ready = [target for target in targets if target.share.id not in down]
        results: dict[str, values.EnsureResult] = {}
        try:
            if ready:
                said = ask(ready).items()
                results = {key: result for key, result in said if isinstance(result, values.EnsureResult)}
        except Exception as error:
            what = 'inspected' if self.data.dry_run else 'ensured'
            LOG.exception('[%s] %s shares could not be %s', self.manager.name, len(ready), what)
            unsaid = errors.reason(error, self.work.ctx.request_id)
        for target in ready:
            result, server = results.get(target.share.id), target.share.server
            if result and server and server.id in self._mended:
                repaired = (*self._mended[server.id], *result.repaired)
                results[target.share.id] = dataclasses.replace(result, repaired=repaired)
        return [
            Answer(target, results.get(target.share.id), down.get(target.share.id, unsaid))
            for target in targets
        ], unsaid

    def _emit(self, event: str, **more: Any) -> None:
        data = self.data
        payload = {
            'host': self.host,
            'why': data.why,
            'dry_run': data.dry_run,
            **(dataclasses.asdict(data.progress) if data.progress else {}),
            'repairs': data.repairs,
            'configuration': data.configuration.changes if data.configuration else {},
            **more,
        }
        notifications.emit(self.work.ctx, f'share.ensure.{event}', payload, host=self.host)


def fingerprint(manager: Any) -> str | None:
    """Return a digest of the configuration that the backend's shares depend on, or None if the driver gives none or fails."""
    try:
        settings = manager.driver.fingerprint()
        return hashlib.sha256(repr(sorted(settings.items())).encode()).hexdigest() if settings else None
    except Exception:
        LOG.exception('[%s] the backend does not report the dependencies of its shares', manager.name)
        return None


PLANS = [
    Plan(
        ensure_queries.KIND,
        (Step(lambda work: Run(work).go(), name='ensure'),),
        lambda conn, work: Run(work).done(conn),
        lambda conn, work, error: Run(work).failed(conn, error),
        data=EnsureShares,
    )
]
