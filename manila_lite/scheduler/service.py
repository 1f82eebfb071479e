# SPDX-License-Identifier: Apache-2.0
"""Places shares: picks a pool, claims its room by a conditional UPDATE, and passes the operation on to its backend."""

import datetime
import math
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, states
from manila_lite.db import (
    kept_answers,
    messages,
    operations,
    pairs,
    serving,
    share_group_snapshots,
    share_groups,
    shares,
    snapshots,
    transitions,
)
from manila_lite.db import services as rows
from manila_lite.db.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.operations import Plan, Step, Work
from manila_lite.scheduler import expiry, filters, groups, hosts, migrating, replicas, weighers
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PoolState, Request
from manila_lite.scheduler.placement import Placement, why_none
from manila_lite.worker import Worker

LOG = log.getLogger(__name__)

#: Rounds of "best pool, claim it" before the request waits a moment: each lost round means that pools changed since
#: they were read.
_ROUNDS = 4
_PURGE_EVERY = 3600.0
#: Seconds between looks whether a backend has reported its pools by now.
_LOOK_AGAIN = 0.5


def place(work: Work) -> None:
    """The share has a pool whose room is claimed, and the operation goes to its backend.

    :raises errors.NoValidHost: no pool will do.
    :raises errors.Again: others were faster at every pool that would, or a backend that just started may yet report one.
    """
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        share = _share(conn, work)
        chosen = choose_or_wait(conn, work, _request(conn, work, share))
        shares.update_instance(conn, share.instance_id, host=chosen.host, scheduled_at=timeutils.utcnow(),
                               availability_zone_id=chosen.availability_zone_id)
        work.send = ('share', chosen.host)
        LOG.info('%s: placed on %s', share.id, chosen.host)


def choose(conn: Connection, scheduler: 'Scheduler', request: Request) -> PoolState:
    """Return the best pool for the request. Its room is claimed when the transaction commits.

    :raises errors.NoValidHost: no pool will do, as they are now.
    :raises errors.Again: others were faster at every pool that would.
    """
    began, not_before = scheduler.hosts.now(), -math.inf
    for _ in range(_ROUNDS):
        result = scheduler.placement.place(request, scheduler.hosts.pools(conn, not_before))
        chosen = _claim(conn, result.candidates, request)
        if chosen:
            scheduler.hosts.claimed(chosen, request.size)
            return chosen
        if not result.candidates and not_before >= began:
            LOG.info('%s', why_none(result)[0])
            message, detail = why_none(result, for_admin=False)
            raise errors.NoValidHost(message, detail=detail)
        not_before = scheduler.hosts.now() if result.candidates else began
    raise errors.Again(0.2)


def choose_or_wait(conn: Connection, work: Work, request: Request) -> PoolState:
    """As ``choose``, for the work's request.

    :raises errors.NoValidHost: no pool will do.
    :raises errors.Again: others were faster at every pool that would, or a backend that just started may yet report one.
    """
    try:
        return choose(conn, work.service, request)
    except errors.NoValidHost:
        _wait_for_reports(conn, work)
        raise


def _wait_for_reports(conn: Connection, work: Work) -> None:
    """A backend that lives and has not said yet what it has may be what the share is waiting for.

    :raises errors.Again: there is one, and the request is young.
    """
    conf = work.ctx.conf
    if timeutils.is_older_than(work.op.created_at, conf.scheduler.first_report_wait):
        return
    if rows.silent(conn, conf.service_down_time):
        raise errors.Again(_LOOK_AGAIN)


def _share(conn: Connection, work: Work) -> Any:
    try:
        return shares.get(conn, work.ctx, work.resource_id)
    except errors.NotFound as gone:
        raise errors.Final(str(gone)) from None


def _request(conn: Connection, work: Work, share: Any) -> Request:
    hints = work.data.get('hints') or {}
    source_host = _source_host(conn, share)
    group = groups.place_of(share_groups.by_id(conn, share.share_group_id)) if share.share_group_id else None
    return Request(
        size=share.size, proto=share.share_proto, project_id=share.project_id,
        extra_specs=pairs.of(conn, share_type_extra_specs, share.share_type_id),
        availability_zone=work.data.get('zone'), same_hosts=_hosts_of(conn, hints, 'same_host'),
        different_hosts=_hosts_of(conn, hints, 'different_host'), only_host=group or hints.get('only_host'),
        subnets=serving.subnets_by_zone(conn, share.share_network_id) if share.share_network_id else None,
        source_host=source_host, excluded=work.data.get('excluded', {}), new_share=True)


def _source_host(conn: Connection, share: Any) -> str | None:
    """Return where the share is whose snapshot this one is made from, by itself or with its group."""
    if share.source_share_group_snapshot_member_id:
        found = share_group_snapshots.with_share(conn, share.source_share_group_snapshot_member_id)
        return found[1].host if found else None
    source = snapshots.with_share(conn, share.snapshot_id) if share.snapshot_id else None
    return source[1].host if source else None


def _hosts_of(conn: Connection, hints: dict[str, Any], hint: str) -> frozenset[str]:
    """Return where the shares are that a hint names; one that is gone, or found no place, is nowhere.

    :raises errors.Again: one is still being placed.
    :raises errors.NoValidHost: they are all nowhere, and the share must be where they are.
    """
    named = shares.hosts_of(conn, hints.get(hint, ()))
    if any(host is None and status == states.SHARE['create'].during for host, status in named):
        raise errors.Again(_LOOK_AGAIN)
    # Operations begun by an earlier release name hosts.
    found = frozenset(host for host, _ in named if host) | frozenset(hints.get(f'{hint}s', ()))
    if hints.get(hint) and not found and hint == 'same_host':
        raise errors.NoValidHost('The shares that the hint same_host names are at no backend.', detail='FILTER_AFFINITY')
    return found


def _claim(conn: Connection, candidates: list[PoolState], request: Request) -> PoolState | None:
    for pool in candidates:
        if rows.claim(conn, pool.host, pool.generation, request.size, pool.claimed_gb + headroom(request, pool)):
            return pool
    return None


def not_placed(conn: Connection, work: Work, error: Exception) -> None:
    """The share is in error, and its owner is told which filter refused and why."""
    try:
        share = shares.get(conn, work.ctx, work.resource_id)
    except errors.NotFound:
        return
    transitions.fail(conn, states.SHARE, 'create', share.instance_id)
    messages.create(conn, work.ctx, 'SHARE', share.id, messages.Action.ALLOCATE_HOST,
                    messages.Detail.of(error), str(error))


def grow(work: Work) -> None:
    """The room that the share grows by is claimed on its pool, and the operation goes to its backend: at the same moment,
    since a report in between would forget the claim.

    :raises errors.NoValidHost: the pool has no room for it.
    :raises errors.Again: others were faster, or the pool was just reported anew.
    """
    more = work.data['new_size'] - work.data['size']
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        share = _share(conn, work)
        request = Request(size=more, proto=share.share_proto, project_id=share.project_id, new_share=False,
                          extra_specs=pairs.of(conn, share_type_extra_specs, share.share_type_id))
        for _ in range(_ROUNDS):
            pool = hosts.one(conn, share.host, work.ctx.conf.service_down_time)
            if pool is None:
                raise errors.NoValidHost(f'Pool {share.host} of the share is not known.', detail='NO_VALID_HOST')
            if headroom(request, pool) < more:
                raise errors.NoValidHost(f'Pool {share.host} has no room for {more} GiB more.', detail='FILTER_CAPACITY')
            if _claim(conn, [pool], request):
                work.pass_on(conn, 'share', pool.backend)
                return
    raise errors.Again(_LOOK_AGAIN)


def not_grown(conn: Connection, work: Work, error: Exception) -> None:
    """The share is available as before: nothing was changed. Its owner is told why."""
    try:
        share = shares.get(conn, work.ctx, work.resource_id)
    except errors.NotFound:
        return
    shares.update(conn, share.id, target_size=None)
    transitions.finish(conn, states.SHARE, 'extend', share.instance_id)
    messages.create(conn, work.ctx, 'SHARE', share.id, messages.Action.EXTEND,
                    messages.Detail.of(error), str(error))


def _nothing(work: Work) -> None:
    """A share that never had a backend leaves nothing behind."""


def removed(conn: Connection, work: Work) -> None:
    """The share's row is gone."""
    shares.delete(conn, work.resource_id)


def not_removed(conn: Connection, work: Work, error: Exception) -> None:
    """The share is there and can be deleted again. Its owner is told why."""
    try:
        share = shares.get(conn, work.ctx, work.resource_id)
    except errors.NotFound:
        return
    transitions.fail(conn, states.SHARE, 'delete', share.instance_id)
    messages.create(conn, work.ctx, 'SHARE', share.id, messages.Action.DELETE, messages.Detail.UNKNOWN_ERROR,
                    errors.told(error))


def snapshot_not_removed(conn: Connection, work: Work, error: Exception) -> None:
    """The snapshot is there and can be deleted again. Its owner is told why."""
    transitions.fail(conn, states.SNAPSHOT, 'delete', work.resource_id)
    messages.create(conn, work.ctx, 'SHARE_SNAPSHOT', work.resource_id, messages.Action.DELETE,
                    messages.Detail.UNKNOWN_ERROR, errors.told(error))


def snapshot_removed(conn: Connection, work: Work) -> None:
    """The snapshot's row is gone."""
    transitions.finish(conn, states.SNAPSHOT, 'delete', work.resource_id)


def _no_end(conn: Connection, work: Work, error: Exception | None = None) -> None:
    """Operations that were passed on end elsewhere."""


PLANS = [
    Plan('share.create', (Step(place),), _no_end, not_placed),
    Plan('share.extend', (Step(grow),), _no_end, not_grown),
    Plan('share.delete', (Step(_nothing),), removed, not_removed),
    Plan('snapshot.delete', (Step(_nothing),), snapshot_removed, snapshot_not_removed),
    *migrating.PLANS,
    *replicas.plans(choose_or_wait),
    *groups.plans(choose_or_wait),
]


class Scheduler:
    """One of any number of schedulers; all work off the same queue."""

    def __init__(self, services: context.Services):
        conf = services.conf
        self.services = services
        self.hosts = hosts.Hosts(conf.service_down_time)
        self.placement = Placement(filters.load(conf.scheduler.filters), weighers.load(conf.scheduler.weighers, {
            'capacity': conf.scheduler.capacity_weight_multiplier,
            'goodness': conf.scheduler.goodness_weight_multiplier,
            'host_affinity': conf.scheduler.host_affinity_weight_multiplier}))
        self.worker = Worker(services, 'scheduler', '', conf.host, conf.storage_availability_zone, PLANS, self)
        self.worker.every(_PURGE_EVERY, self._purge)
        self.worker.every(conf.check_for_expired_shares_in_recycle_bin_interval, lambda: expiry.empty_bin(services))
        self.worker.every(conf.check_for_expired_transfers, lambda: expiry.end_transfers(services))

    def start(self) -> None:
        """Requests are placed."""
        self.worker.start()
        self.worker.work()

    def stop(self) -> None:
        """What was being placed is placed."""
        self.worker.stop()

    def _purge(self) -> None:
        with self.services.db.writer() as conn:
            kept = datetime.timedelta(hours=self.services.conf.operations.keep_finished)
            operations.purge(conn, timeutils.utcnow() - kept)
            messages.expire(conn)
            kept_answers.expire(conn)
