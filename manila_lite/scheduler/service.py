# SPDX-License-Identifier: Apache-2.0
"""The scheduler: it picks a pool for a share, claims capacity by a conditional UPDATE, and passes the operation on."""

import dataclasses
import datetime
import math
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors, states
from manila_lite.db.core import database_clock, host_time, key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import (
    idempotency_keys,
    messages,
    operations,
    pool_reports,
    request_notes,
    share_group_snapshots,
    share_groups,
    share_server_queries,
    share_usage,
    shares,
    snapshots,
)
from manila_lite.engine import PLACE, Plan, Step, Work, nothing
from manila_lite.engine.worker import Worker
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.shares import CreateShare, ResizeShare
from manila_lite.scheduler import (
    batch_placement,
    evacuation,
    expiry,
    filters,
    grace_period,
    host_states,
    migration,
    schedules,
    share_replicas,
    weighers,
)
from manila_lite.scheduler import share_groups as share_group_placement
from manila_lite.scheduler.filters.capacity import headroom
from manila_lite.scheduler.interface import PlacementRequest, PoolState
from manila_lite.scheduler.placement import Placement, why_none
from manila_lite.workflow.verbs import notify, share_instance, share_row, verb_plan

LOG = log.getLogger(__name__)

#: Rounds of "best pool, claim it" before the request waits a moment: each lost round means that pools changed since
#: they were read.
_ROUNDS = 4
_PURGE_EVERY = 3600.0


def place(work: Work[CreateShare]) -> None:
    """Choose a pool for the share, claim its capacity, and pass the operation on to its backend.

    :raises errors.NoValidHost: no pool is suitable.
    :raises errors.Again: other requests were faster at every suitable pool, or a backend that just started may yet
        report one.
    """
    with work.writer() as conn:
        share = share_row(conn, work)
        chosen = choose_or_wait(conn, work, _request(conn, work, share))
        shares.update_instance(
            conn,
            share.instance_id,
            host=chosen.host,
            scheduled_at=timeutils.utcnow(),
            availability_zone_id=chosen.availability_zone_id,
        )
        work.send = ('share', chosen.host)
        LOG.info('%s: placed on %s', share.id, chosen.host)


def choose(conn: Connection, scheduler: 'Scheduler', request: PlacementRequest) -> PoolState:
    """Return the best pool for the request. Its capacity is claimed when the transaction commits.

    :raises errors.NoValidHost: no pool is suitable, by their present state.
    :raises errors.Again: other requests were faster at every suitable pool.
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


def choose_or_wait(conn: Connection, work: Work[Any], request: PlacementRequest) -> PoolState:
    """Choose a pool for the work's request, as ``choose`` does, and wait for backends that just started, or are restarted.

    :raises errors.NoValidHost: no pool is suitable.
    :raises errors.Again: other requests were faster at every suitable pool, or a backend that just started, was up a moment
        ago, or whose host has a wrong clock, may yet have one.
    """
    try:
        return choose(conn, work.service, request)
    except errors.NoValidHost:
        if _may_report(conn, work) or _may_return(conn, work, request):
            raise errors.Again(grace_period.LOOK_AGAIN) from None
        raise


def _may_report(conn: Connection, work: Work[Any]) -> bool:
    """Say whether a running backend has not reported its pools yet, and the request is young: one of them may suit it."""
    conf = work.ctx.conf
    age = (host_time.now(conn) - work.op.created_at).total_seconds()
    return age <= conf.scheduler.first_report_wait and bool(
        pool_reports.list_backends_without_pools(conn, conf.service_down_time)
    )


def _may_return(conn: Connection, work: Work[Any], request: PlacementRequest) -> bool:
    """Say whether a pool would suit the request, which is young, whose backend probably takes work again soon."""
    return bool(work.service.placement.place(request, grace_period.pools(conn, work)).candidates)


def _request(conn: Connection, work: Work[CreateShare], share: Any) -> PlacementRequest:
    hints = work.data.hints
    source_host = _source_host(conn, share)
    only_host = hints.get('only_host')
    group = (
        share_group_placement.place_of(share_groups.find(conn, share.share_group_id))
        if share.share_group_id
        else None
    )
    return PlacementRequest(
        size=share.size,
        proto=share.share_proto,
        project_id=share.project_id,
        extra_specs=batch_placement.specs_for(
            work, key_values.of(conn, share_type_extra_specs, share.share_type_id)
        ),
        availability_zone=work.data.zone,
        same_hosts=_hosts_of(conn, hints, 'same_host'),
        different_hosts=_hosts_of(conn, hints, 'different_host'),
        only_host=group or only_host,
        even_disabled=bool(only_host),
        subnets=share_server_queries.subnets_of_request(
            conn, share.share_network_id, named=work.data.named_subnets
        ),
        source_host=source_host,
        excluded=work.data.excluded,
    )


def _source_host(conn: Connection, share: Any) -> str | None:
    """Return the host of the share that the new share's snapshot, or group snapshot member, was made from."""
    if share.source_share_group_snapshot_member_id:
        origin = share_group_snapshots.with_share(conn, share.source_share_group_snapshot_member_id)
        return origin[1].host if origin else None
    source = snapshots.with_share(conn, share.snapshot_id) if share.snapshot_id else None
    return source[1].host if source else None


def _hosts_of(conn: Connection, hints: dict[str, Any], hint: str) -> frozenset[str]:
    """Return the hosts of the shares that a hint names. Shares that are gone, or were never placed, have none.

    :raises errors.Again: one of the shares is still being placed.
    :raises errors.NoValidHost: none of the shares has a host, and the new share must be placed with them.
    """
    named = shares.hosts_of(conn, hints.get(hint, ()))
    if any(host is None and status == states.SHARE['create'].during for host, status in named):
        raise errors.Again(grace_period.LOOK_AGAIN)
    # Operations begun by an earlier release name hosts instead of shares.
    hosts = frozenset(host for host, _ in named if host) | frozenset(hints.get(f'{hint}s', ()))
    if hints.get(hint) and not hosts and hint == 'same_host':
        raise errors.NoValidHost(
            'The shares that the hint same_host names are on no backend.', detail='FILTER_AFFINITY'
        )
    return hosts


def _claim(conn: Connection, candidates: list[PoolState], request: PlacementRequest) -> PoolState | None:
    for pool in candidates:
        if pool_reports.claim_space(
            conn, pool.host, pool.generation, request.size, pool.claimed_gb + headroom(request, pool)
        ):
            return pool
    return None


def grow(work: Work[ResizeShare]) -> None:
    """Claim the capacity that the share grows by on its pool, and pass the operation on to its backend. Both are one
    transaction, since a report in between would forget the claim.

    :raises errors.NoValidHost: the pool does not have the capacity.
    :raises errors.Again: other requests were faster, or the pool was just reported anew.
    """
    more = work.data.growth
    with work.writer() as conn:
        share = share_row(conn, work)
        request = PlacementRequest(
            size=more,
            proto=share.share_proto,
            project_id=share.project_id,
            extra_specs=key_values.of(conn, share_type_extra_specs, share.share_type_id),
        )
        for _ in range(_ROUNDS):
            pool = host_states.one(conn, share.host, work.ctx.conf.service_down_time)
            if pool is None:
                LOG.warning('%s: its pool %s is not known', share.id, share.host)
                raise errors.NoValidHost('The pool of the share is not known.', detail='NO_VALID_HOST')
            if headroom(request, pool) < more:
                LOG.info('%s: its pool %s has no room for %s GiB more', share.id, share.host, more)
                raise errors.NoValidHost(
                    f'The pool of the share has no room for {more} GiB more.', detail='FILTER_CAPACITY'
                )
            if _claim(conn, [pool], request):
                work.pass_on(conn, 'share', pool.backend)
                return
    raise errors.Again(grace_period.LOOK_AGAIN)


def not_grown(conn: Connection, work: Work[ResizeShare], error: Exception) -> None:
    """Make the share available again, as it was before, and tell its owner why it did not grow."""
    instance_id = share_instance(conn, work)
    if instance_id is not None:
        shares.update(conn, work.resource_id, target_size=None)
        transitions.finish(conn, states.SHARE, 'extend', instance_id)
        # A share that is to grow is tried again after each measurement.
        if not work.data.automatic or share_usage.set_growth_refused(conn, work.resource_id, True):
            notify(conn, work, 'SHARE', messages.Action.EXTEND, messages.Detail.UNKNOWN_ERROR, error)


PLANS: list[Plan[Any]] = [
    dataclasses.replace(
        verb_plan(
            'share.create',
            CreateShare,
            states.SHARE,
            'create',
            Step(place, many=batch_placement.place_many),
            row_id=share_instance,
            action=messages.Action.ALLOCATE_HOST,
        ),
        done=nothing,
    ),
    Plan(
        'share.extend',
        (Step(grow, name=PLACE, many=batch_placement.grow_many),),
        nothing,
        not_grown,
        data=ResizeShare,
    ),
    # A share or snapshot that never had a backend leaves nothing behind.
    dataclasses.replace(
        verb_plan(
            'share.delete',
            OperationData,
            states.SHARE,
            'delete',
            Step(nothing, name=PLACE),
            row_id=share_instance,
            action=messages.Action.DELETE,
        ),
        done=lambda conn, work: shares.delete(conn, (work.resource_id,)),
    ),
    verb_plan(
        'snapshot.delete',
        OperationData,
        states.SNAPSHOT,
        'delete',
        Step(nothing, name=PLACE),
        action=messages.Action.DELETE,
    ),
    *migration.PLANS,
    *evacuation.PLANS,
    *schedules.PLANS,
    *share_replicas.plans(choose_or_wait),
    *share_group_placement.plans(choose_or_wait),
]


class Scheduler:
    """One of any number of schedulers. All work off the same queue."""

    def __init__(self, services: context.Services):
        conf = services.conf
        self.services = services
        self.hosts = host_states.Hosts(conf.service_down_time, clocks=conf.operations.max_clock_difference)
        self.placement = Placement(
            filters.load(conf.scheduler.filters),
            weighers.load(
                conf.scheduler.weighers,
                {
                    'capacity': conf.scheduler.capacity_weight_multiplier,
                    'goodness': conf.scheduler.goodness_weight_multiplier,
                    'host_affinity': conf.scheduler.host_affinity_weight_multiplier,
                },
            ),
        )
        self.worker = Worker(
            services, 'scheduler', '', conf.host, conf.storage_availability_zone, PLANS, self
        )
        self.worker.every(_PURGE_EVERY, self._purge)
        self.worker.every(
            conf.check_for_expired_shares_in_recycle_bin_interval, lambda: expiry.empty_bin(services)
        )
        self.worker.every(conf.check_for_expired_transfers, lambda: expiry.end_transfers(services))
        self.worker.every(conf.scheduler.schedule_interval, self._begin_schedules)

    def start(self) -> None:
        """Begin to place requests."""
        self.worker.start()
        self.worker.work()

    def stop(self) -> None:
        """Stop, after the requests that are being placed are finished."""
        self.worker.stop()

    def _begin_schedules(self) -> None:
        if self.worker.clock_agrees():
            schedules.begin_due(self.services)

    def _purge(self) -> None:
        with self.services.db.writer() as conn:
            kept = datetime.timedelta(hours=self.services.conf.operations.finished_retention_hours)
            operations.delete_ended(conn, database_clock.time(conn) - kept)
            messages.delete_expired(conn)
            idempotency_keys.delete_expired(conn)
            request_notes.delete_old(conn)
