# SPDX-License-Identifier: Apache-2.0
"""Rows of pools: reports of backends, promises to shares since the report, and claims of the scheduler."""

import dataclasses
import functools
import operator
import random
from collections.abc import Collection, Iterable
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection, Row

from manila_lite.db import models
from manila_lite.db.core.database_clock import AS_OF
from manila_lite.db.core.engine import insert_ignore
from manila_lite.db.core.prepared import Query, Write
from manila_lite.db.queries import migration_promises, services
from manila_lite.states import COMPLETION

_instances = models.share_instances
_operations = models.operations
_pools = models.pools
_services = models.services
_zones = models.availability_zones

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
    return [row.host for row in conn.execute(query) if services.is_up(row, down_time)]


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
