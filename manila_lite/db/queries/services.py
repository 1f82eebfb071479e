# SPDX-License-Identifier: Apache-2.0
"""Zones, services and their heartbeats, and the pools that backends report."""

import dataclasses
import functools
import operator
import random
from collections.abc import Collection, Iterable
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils, uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors, release
from manila_lite.db import models
from manila_lite.db.core import database_clock
from manila_lite.db.core.database_clock import AS_OF
from manila_lite.db.core.engine import insert_ignore
from manila_lite.db.core.prepared import Query, Write
from manila_lite.db.queries import migration_promises
from manila_lite.states import COMPLETION

_services = models.services
_zones = models.availability_zones
_pools = models.pools
_instances = models.share_instances
_operations = models.operations


def zone_id(conn: Connection, name: str, *, create: bool = False) -> str:
    """Return the zone's id.

    :raises errors.NotFound: there is no such zone, and ``create`` is off.
    """
    query = sa.select(_zones.c.id).where(_zones.c.name == name)
    existing_id: str | None = conn.execute(query).scalar()
    if existing_id is None and create:
        insert_ignore(conn, _zones, {'id': uuidutils.generate_uuid(), 'name': name})
        existing_id = conn.execute(query).scalar()
    if existing_id is None:
        raise errors.NotFound.of('availability zone', name)
    return existing_id


def find_zone_id(conn: Connection, name_or_id: str) -> str | None:
    """Return the id of the zone with this name, or else with this id, or None."""
    found = {
        zone.name == name_or_id: zone.id
        for zone in conn.execute(
            sa.select(_zones.c.id, _zones.c.name).where(
                (_zones.c.name == name_or_id) | (_zones.c.id == name_or_id)
            )
        )
    }
    return found.get(True) or found.get(False)


def list_zones(conn: Connection) -> list[Row[Any]]:
    """Return all zones that have a share manager, by name."""
    used = sa.select(_services.c.availability_zone_id).where(_services.c.binary == 'manila-share')
    return list(conn.execute(sa.select(_zones).where(_zones.c.id.in_(used)).order_by(_zones.c.name)))


def heartbeat_age(row: Any) -> float | None:
    """Return the seconds since the last heartbeat of a service's row with its ``as_of``; None if there was none.

    Heartbeats are judged by the clock of the database alone.
    """
    return None if row.heartbeat_at is None else (row.as_of - row.heartbeat_at).total_seconds()


def is_up(row: Any, down_time: float, later: float = 0.0) -> bool:
    """Say whether a service was up when its row was read, or ``later`` seconds after that. Decided nowhere else.

    A heartbeat in the future, as after a clock was set, counts no longer than one of the present.
    """
    age = heartbeat_age(row)
    return age is not None and not row.stopped and -down_time <= age and age + later <= down_time


def was_up(row: Any, seconds: float) -> bool:
    """Say whether a service had a heartbeat, or stopped, in the last ``seconds``."""
    age = heartbeat_age(row)
    return age is not None and abs(age) <= seconds


def is_running(row: Row[Any], conf: Any) -> bool:
    """Say whether the service is up, or is perhaps only being restarted."""
    return is_up(row, conf.service_down_time) or was_up(row, conf.scheduler.restart_wait)


def clock_ahead_of(row: Any) -> float | None:
    """Return the seconds by which the clock of the service's host is ahead of the database's; None if it does not tell."""
    return None if release_of(row) is None else row.clock_ahead


def clock_fault(row: Any, down_time: float, most: float) -> str | None:
    """Return why a clock keeps the service from work, or None. ``most``: seconds by which clocks may differ."""
    age = heartbeat_age(row)
    if age is None or row.stopped:
        return None
    if age < -down_time:
        return f'its last heartbeat is {-age:.0f} s in the future by the clock of the database'
    ahead = clock_ahead_of(row) or 0.0
    if age > down_time or abs(ahead) <= most:
        return None
    return f'the clock of its host is {clock_words(ahead)} that of the database'


def clock_words(ahead: float) -> str:
    """Return how far a clock is ahead, or behind."""
    return f'{abs(ahead):.0f} s {"ahead of" if ahead > 0 else "behind"}'


def release_of(row: Row[Any]) -> str | None:
    """Return the release that the service runs; None if it does not tell, as releases before ``FIRST_TOLD``."""
    return row.release if row.release_at is not None and row.release_at == row.heartbeat_at else None


def heartbeat(conn: Connection, host: str, binary: str, zone: str, *, stopped: bool = False) -> float:
    """Record a heartbeat of the service, which runs this release, or that it has stopped. Return the seconds by which the
    clock of this host is ahead of the database's.
    """
    here = zone_id(conn, zone, create=True)
    now, ahead = database_clock.compare(conn)
    values = {
        'heartbeat_at': now,
        'stopped': stopped,
        'release': release.VERSION,
        'release_at': now,
        'clock_ahead': ahead,
        'availability_zone_id': here,
    }
    beat = _services.update().where(_services.c.host == host, _services.c.binary == binary).values(**values)
    if not conn.execute(beat).rowcount:
        insert_ignore(conn, _services, {'host': host, 'binary': binary, 'topic': binary, **values})
    return ahead


def _select() -> sa.Select[Any]:
    return sa.select(_services, _zones.c.name.label('zone'), AS_OF).outerjoin(
        _zones, _zones.c.id == _services.c.availability_zone_id
    )


def list_services(conn: Connection, filters: dict[str, Any] | None = None) -> list[Row[Any]]:
    """Return services with their ``zone``, filtered by equality on host, binary, zone, disabled or ensuring."""
    query = _select().order_by(_services.c.id)
    for key, value in (filters or {}).items():
        query = query.where((_zones.c.name if key == 'zone' else _services.c[key]) == value)
    return list(conn.execute(query))


def get(conn: Connection, host: str, binary: str) -> Row[Any]:
    """Return one service.

    :raises errors.NotFound: there is none of that host and binary.
    """
    row = conn.execute(_select().where(_services.c.host == host, _services.c.binary == binary)).first()
    if row is None:
        raise errors.NotFound(
            f'Service {binary} on host {host} could not be found.', code='service_not_found'
        )
    return row


def set_disabled(conn: Connection, host: str, binary: str, disabled: bool, reason: str | None) -> None:
    """Disable the service for new shares, or enable it again.

    :raises errors.NotFound: there is none of that host and binary.
    """
    changed = conn.execute(
        _services.update()
        .where(_services.c.host == host, _services.c.binary == binary)
        .values(disabled=disabled, disabled_reason=reason)
    ).rowcount
    if not changed:
        get(conn, host, binary)


def set_ensuring(conn: Connection, host: str, yes: bool, **values: Any) -> bool:
    """Mark whether the share manager ensures its shares, and set these ``values``. Return False if there is none. The
    row is locked until the transaction ends.
    """
    return bool(
        conn.execute(
            _services.update()
            .where(_services.c.host == host, _services.c.binary == 'manila-share')
            .values(ensuring=yes, **values)
        ).rowcount
    )


_ALL_POOLS = (
    sa.select(
        _pools,
        _zones.c.name.label('zone'),
        _zones.c.id.label('zone_id'),
        _services.c.heartbeat_at,
        _services.c.stopped,
        _services.c.disabled,
        _services.c.release,
        _services.c.release_at,
        _services.c.clock_ahead,
        AS_OF,
    )
    .join(_services, sa.and_(_services.c.host == _pools.c.backend_host, _services.c.binary == 'manila-share'))
    .outerjoin(_zones, _zones.c.id == _services.c.availability_zone_id)
    .order_by(_pools.c.host)
)


def list_pools(conn: Connection, hosts: Iterable[str] | None = None) -> list[Row[Any]]:
    """Return every pool (or those of these host strings) with its service's zone, ``zone_id``, ``heartbeat_at``,
    ``stopped`` and ``disabled``.
    """
    query = _ALL_POOLS if hosts is None else _ALL_POOLS.where(_pools.c.host.in_(tuple(hosts)))
    return list(conn.execute(query).all())


_BACKENDS = Query(
    sa.select(
        _services.c.host,
        _services.c.heartbeat_at,
        _services.c.stopped,
        _services.c.disabled,
        AS_OF,
        _services.c.release,
        _services.c.release_at,
        _services.c.clock_ahead,
        _zones.c.name.label('zone'),
        _zones.c.id.label('zone_id'),
    )
    .outerjoin(_zones, _zones.c.id == _services.c.availability_zone_id)
    .where(_services.c.binary == 'manila-share')
)


def list_backends(conn: Connection) -> list[Row[Any]]:
    """Return host, ``disabled``, ``zone``, ``zone_id``, heartbeat and clock of every backend."""
    return _BACKENDS.all(conn)


_MARKS = Query(
    sa.select(
        _pools.c.host,
        _pools.c.backend_host,
        _pools.c.generation,
        _pools.c.claimed_gb,
        _pools.c.allocated_gb,
        _pools.c.provisioned_gb,
    ),
    named=False,
)


def list_pool_versions(conn: Connection) -> list[tuple[Any, ...]]:
    """Return for every pool its host string, its backend's, and values of which some differ after every change."""
    return _MARKS.all(conn)


def list_backends_without_pools(conn: Connection, down_time: float) -> list[str]:
    """Return the hosts of running backends, not disabled, that have never reported a pool."""
    query = sa.select(_services.c.host, _services.c.heartbeat_at, _services.c.stopped, AS_OF).where(
        _services.c.binary == 'manila-share',
        _services.c.disabled.is_(False),
        ~sa.exists().where(_pools.c.backend_host == _services.c.host),
    )
    return [row.host for row in conn.execute(query) if is_up(row, down_time)]


def list_backends_just_down(conn: Connection, down_time: float, seconds: float) -> set[str]:
    """Return the hosts of backends that are not up, and had a heartbeat, or stopped, in the last ``seconds``."""
    return {row.host for row in list_backends(conn) if was_up(row, seconds) and not is_up(row, down_time)}


@dataclasses.dataclass(frozen=True)
class Promised:
    """The sizes of a pool's shares before its backend was asked for its figures. GiB.

    ``unseen`` is for shares that are being created, extended or copied here: the backend's figures may not include them
    yet.
    """

    claimed: float = 0.0
    provisioned: float = 0.0
    unseen: float = 0.0


def promises_of_pools(conn: Connection, backend_host: str) -> dict[str, Promised]:
    """Return the promises of each pool, for ``store_report``. To be called before the backend is asked.

    One statement reads one state of the database: a claim that is committed meanwhile is either in all figures or in none.
    """
    promises: dict[str, Promised] = {}
    every = sa.union_all(_claims(backend_host), _sizes(backend_host), _servers_on_their_way(backend_host))
    for host, *figures, state, data in conn.execute(every):
        if not state:
            _add(promises, host, *figures)
            continue
        for pool, size, seen in migration_promises.of_row(state, data):
            _add(promises, pool, 0, size if seen else 0, 0 if seen else size)
    return promises


def _add(promises: dict[str, Promised], host: str, *figures: float) -> None:
    before = dataclasses.astuple(promises.get(host, Promised()))
    promises[host] = Promised(*(float(more) + had for more, had in zip(figures, before, strict=True)))


_NOTHING: sa.ColumnClause[float] = sa.literal_column('0.0')
_NO_TEXT: sa.ColumnClause[str] = sa.literal_column("''")


def _claims(backend_host: str) -> sa.Select[Any]:
    return sa.select(
        _pools.c.host,
        _pools.c.claimed_gb,
        _NOTHING.label('provisioned'),
        _NOTHING.label('unseen'),
        _NO_TEXT.label('state'),
        _NO_TEXT.label('data'),
    ).where(_pools.c.backend_host == backend_host)


def _servers_on_their_way(backend_host: str) -> sa.Select[Any]:
    """Select the migrations of share servers to the backend, which name their pools in their data."""
    return migration_promises.select(backend_host).with_only_columns(
        _NO_TEXT.label('host'), _NOTHING, _NOTHING, _NOTHING, *migration_promises.select().selected_columns
    )


def _sizes(backend_host: str) -> sa.Select[Any]:
    """Select for each pool the GiB of shares that the backend's figures include, and the GiB that they may not yet."""
    shares = models.shares
    # Growth for which no scheduler has claimed capacity yet is not promised.
    asked = sa.exists().where(
        _operations.c.resource_id == shares.c.id,
        _operations.c.kind == 'share.extend',
        _operations.c.topic == 'scheduler',
        _operations.c.state == 'open',
    )
    growth = sa.case(
        (sa.and_(shares.c.target_size > shares.c.size, ~asked), shares.c.target_size - shares.c.size), else_=0
    )
    copying = sa.func.coalesce(shares.c.task_state, '').not_in((*COMPLETION, *COMPLETION.values()))
    new = sa.or_(_instances.c.status == 'creating', sa.and_(_instances.c.status == 'migrating_to', copying))
    return (
        sa.select(
            _instances.c.host,
            _NOTHING,
            sa.func.sum(sa.case((new, 0), else_=shares.c.size)),
            sa.func.sum(sa.case((new, shares.c.size), else_=growth)),
            _NO_TEXT,
            _NO_TEXT,
        )
        .join(shares, shares.c.id == _instances.c.share_id)
        .where(_instances.c.host.startswith(f'{backend_host}#', autoescape=True))
        .group_by(_instances.c.host)
    )


def _reported(name: str) -> str:
    """Return the name of the value for a column: that of the column itself is SQLAlchemy's own."""
    return f'reported_{name}'


@functools.cache
def _report(names: tuple[str, ...]) -> Write:
    """Return the statement that stores the report on a pool, of which it has these columns."""
    provisioned = sa.bindparam('seen_provisioned', type_=_pools.c.provisioned_gb.type)
    since = _pools.c.claimed_gb - sa.bindparam('seen_claimed', type_=_pools.c.claimed_gb.type)
    # Below 0: capacity given back since then is part of what was provisioned before.
    gone = sa.case((since < 0, since), else_=0)
    # In this order: in MariaDB each assignment sees the values of those before it.
    return Write(
        _pools.update()
        .where(_pools.c.host == sa.bindparam(_reported('host')))
        .ordered_values(
            (_pools.c.provisioned_gb, gone + provisioned),
            (_pools.c.allocated_gb, since + provisioned),
            (_pools.c.claimed_gb, since - gone),
            (_pools.c.generation, _pools.c.generation + 1),
            (_pools.c.reported_at, sa.bindparam('now', type_=_pools.c.reported_at.type)),
            *(
                (_pools.c[name], sa.bindparam(_reported(name), type_=_pools.c[name].type))
                for name in names
                if name != 'host'
            ),
        )
    )


def store_report(
    conn: Connection, backend_host: str, reports: Iterable[dict[str, Any]], before: dict[str, Promised]
) -> None:
    """Store the backend's report: it has exactly these pools. Promises are counted anew, so they never drift. Promises
    that schedulers made since ``before`` was read are kept.
    """
    # In the order in which a migration claims several pools, so that they do not wait for each other.
    reports = sorted(reports, key=operator.itemgetter('host'))
    now = timeutils.utcnow()
    for values in reports:
        seen = before.get(values['host'], Promised())
        changed = _report(tuple(values)).execute(
            conn,
            {
                'now': now,
                'seen_provisioned': seen.provisioned,
                'seen_claimed': seen.claimed - seen.unseen,
                **{_reported(name): value for name, value in values.items()},
            },
        )
        if not changed:
            # Not from 0: a pool that was gone and is back must not be taken for the former one.
            insert_ignore(
                conn,
                _pools,
                {
                    'backend_host': backend_host,
                    'generation': random.getrandbits(30),
                    'reported_at': now,
                    'provisioned_gb': seen.provisioned,
                    'claimed_gb': seen.unseen,
                    'allocated_gb': seen.provisioned + seen.unseen,
                    **values,
                },
            )
    conn.execute(
        _pools.delete().where(
            _pools.c.backend_host == backend_host,
            _pools.c.host.not_in([values['host'] for values in reports]),
        )
    )


_MORE: sa.BindParameter[float] = sa.bindparam('more')
_CLAIM = Write(
    _pools.update()
    .where(
        _pools.c.host == sa.bindparam('pool'),
        _pools.c.generation == sa.bindparam('seen'),
        _pools.c.claimed_gb + _MORE <= sa.bindparam('most'),
    )
    .values(claimed_gb=_pools.c.claimed_gb + _MORE, allocated_gb=_pools.c.allocated_gb + _MORE)
)


def claim_space(conn: Connection, pool_host: str, generation: int, size: float, most: float) -> bool:
    """Promise ``size`` GiB more of the pool, unless that would exceed ``most`` since this generation's report."""
    return bool(_CLAIM.execute(conn, {'pool': pool_host, 'seen': generation, 'more': size, 'most': most}))


def subtract_deleted_shares(conn: Connection, pool_host: str, sizes: Collection[float]) -> None:
    """Subtract the GiB of deleted shares from the pool's figures. Claims stay; the next report has the rest.

    The last report may have counted this capacity as free already, while the backend still deleted the share. The
    claims are those of other shares then.
    """
    size = sum(sizes)
    known = sa.and_(
        _pools.c.claimed_gb < min(sizes), _pools.c.provisioned_gb >= size
    )  # else one of them may be a claim
    conn.execute(
        _pools.update()
        .where(_pools.c.host == pool_host)
        .values(
            provisioned_gb=sa.case((known, _pools.c.provisioned_gb - size), else_=_pools.c.provisioned_gb),
            allocated_gb=sa.case((_pools.c.allocated_gb >= size, _pools.c.allocated_gb - size), else_=0),
        )
    )


def release_space(conn: Connection, pool_host: str, size: float) -> None:
    """Take back a claim of ``size`` GiB on the pool. The next report counts anew anyway."""
    recent = _pools.c.claimed_gb >= size
    # In this order: in MariaDB each assignment sees the values of those before it.
    conn.execute(
        _pools.update()
        .where(_pools.c.host == pool_host)
        .ordered_values(
            (
                _pools.c.provisioned_gb,
                sa.case(
                    (recent, _pools.c.provisioned_gb),
                    (_pools.c.provisioned_gb >= size, _pools.c.provisioned_gb - size),
                    else_=0,
                ),
            ),
            (
                _pools.c.allocated_gb,
                sa.case((_pools.c.allocated_gb >= size, _pools.c.allocated_gb - size), else_=0),
            ),
            (_pools.c.claimed_gb, sa.case((recent, _pools.c.claimed_gb - size), else_=_pools.c.claimed_gb)),
        )
    )
