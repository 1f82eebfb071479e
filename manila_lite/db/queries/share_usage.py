# SPDX-License-Identifier: Apache-2.0
"""How full shares are: measured values, written in batches, and what they look like for users and operators.

A share that was never measured has no row. See ``models/share_usage.py`` for the history.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import timeutils
from sqlalchemy.engine import Connection, Row

from manila_lite import context, errors, values
from manila_lite.db import models
from manila_lite.db.core import paging
from manila_lite.db.core.prepared import Among
from manila_lite.db.core.upserts import upsert
from manila_lite.db.queries import hosts, shares
from manila_lite.values import usage_settings

_usage = models.share_usage
_history = models.share_usage_history
_shares = models.shares
_instances = models.share_instances
_exports = models.export_locations
_snapshots = models.snapshots
_types = models.share_types
_zones = models.availability_zones
#: Columns of a share, and of its instance, that have the names of Manila's notifications.
_OF_SHARE = (
    *('project_id', 'user_id', 'snapshot_id', 'share_group_id', 'size', 'name', 'description', 'is_public'),
    'created_at',
)
_OF_INSTANCE = ('host', 'status', 'share_type_id', 'launched_at')

_MAIN = sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary)

# Collection -----------------------------------------------------------------------------------


class Measured(NamedTuple):
    """A measured share, with the columns of its row."""

    share_id: str
    measured_at: Any
    used_bytes: int
    limit_bytes: int
    snapshot_bytes: int | None
    files: int | None
    percent_full: float


def list_targets(conn: Connection, host: str) -> list[Row[Any]]:
    """Return the shares on a backend, with what they are measured and compared by, in the order of their ids."""
    return list(
        conn.execute(
            sa.select(
                _shares.c.id,
                _shares.c.size,
                _shares.c.project_id,
                _shares.c.user_id,
                _instances.c.id.label('instance_id'),
                _instances.c.host,
                _instances.c.share_type_id,
                _exports.c.path.label('export_path'),
                _usage.c.measured_at,
                _usage.c.told_percent,
                _usage.c.growth_refused,
            )
            .join(_instances, _MAIN)
            .outerjoin(
                _exports, sa.and_(_exports.c.share_instance_id == _instances.c.id, _exports.c.position == 0)
            )
            .outerjoin(_usage, _usage.c.share_id == _shares.c.id)
            .where(hosts.below(_instances.c.host, host), ~_shares.c.deletion_deferred)
            .order_by(_shares.c.id)
        )
    )


def list_described(conn: Connection, host: str) -> list[Row[Any]]:
    """Return the shares on a backend as notifications describe them, by the names that Manila has for that."""
    return list(
        conn.execute(
            sa.select(
                _shares.c.id.label('share_id'),
                *(_shares.c[name] for name in _OF_SHARE),
                _shares.c.share_proto.label('proto'),
                _zones.c.name.label('availability_zone'),
                _types.c.name.label('share_type'),
                *(_instances.c[name] for name in _OF_INSTANCE),
            )
            .join(_instances, _MAIN)
            .outerjoin(_zones, _zones.c.id == _instances.c.availability_zone_id)
            .outerjoin(_types, _types.c.id == _instances.c.share_type_id)
            .where(hosts.below(_instances.c.host, host), ~_shares.c.deletion_deferred)
            .order_by(_shares.c.id)
        )
    )


def snapshots_on(conn: Connection, host: str) -> dict[str, tuple[str, ...]]:
    """Return the ids of the snapshots of each share on a backend, by share id."""
    found: dict[str, list[str]] = defaultdict(list)
    for share_id, snapshot_id in conn.execute(
        sa.select(_snapshots.c.share_id, _snapshots.c.id)
        .join(_instances, sa.and_(_instances.c.share_id == _snapshots.c.share_id, ~_instances.c.is_secondary))
        .where(hosts.below(_instances.c.host, host))
    ):
        found[share_id].append(snapshot_id)
    return {share_id: tuple(ids) for share_id, ids in found.items()}


#: Shares of a batch that are still there, and stay until the transaction ends.
_HELD = Among(
    sa.select(_shares.c.id).order_by(_shares.c.id).with_for_update(read=True, key_share=True), _shares.c.id
)


def store(conn: Connection, measured: Sequence[Measured], series: Iterable[values.Series]) -> None:
    """Store the last values, and a point in each of these series of the history. Shares that were deleted are left out.

    A point takes the place of the one that had its slot before, so that no old ones have to be deleted.
    """
    there = {share_id for (share_id,) in _HELD.all(conn, sorted(one.share_id for one in measured))}
    rows = [one._asdict() for one in measured if one.share_id in there]
    upsert(conn, _usage, rows)
    for one in series:
        upsert(conn, _history, [_point(row, one) for row in rows])


def _point(row: Mapping[str, Any], series: values.Series) -> dict[str, Any]:
    return {
        'share_id': row['share_id'],
        'resolution': series.seconds,
        'slot': series.slot(row['measured_at']),
        **{name: row[name] for name in ('measured_at', 'used_bytes', 'limit_bytes', 'snapshot_bytes')},
    }


# Thresholds and growth ------------------------------------------------------------------------

_specs = models.share_type_extra_specs
_metadata = models.share_metadata


def settings_on(conn: Connection, host: str) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """Return what is to be done with shares that fill up: by share type, and by share on the backend."""
    of_types: dict[str, dict[str, str]] = defaultdict(dict)
    of_shares: dict[str, dict[str, str]] = defaultdict(dict)
    for found, table, query in (
        (of_types, _specs, sa.select(_specs.c.owner_id, _specs.c.key, _specs.c.value)),
        (
            of_shares,
            _metadata,
            sa.select(_metadata.c.owner_id, _metadata.c.key, _metadata.c.value)
            .join(
                _instances, sa.and_(_instances.c.share_id == _metadata.c.owner_id, ~_instances.c.is_secondary)
            )
            .where(hosts.below(_instances.c.host, host)),
        ),
    ):
        for owner_id, key, value in conn.execute(query.where(table.c.key.in_(list(usage_settings.READ)))):
            found[owner_id][key] = value
    return of_types, of_shares


def set_told(conn: Connection, share_ids: Iterable[str], threshold: int) -> None:
    """Note the highest threshold that the owners of these shares were told of. A higher one than before is an event."""
    risen = sa.case((_usage.c.told_percent < threshold, timeutils.utcnow()), else_=_usage.c.told_at)
    conn.execute(
        _usage.update()
        .where(_usage.c.share_id.in_(sorted(share_ids)))
        # In this order: MariaDB reads a column that it has changed before.
        .ordered_values((_usage.c.told_at, risen), (_usage.c.told_percent, threshold))
    )


def set_growth_refused(conn: Connection, share_id: str, refused: bool) -> bool:
    """Note whether the owner of the share was told that it cannot grow. Say whether that is new."""
    return bool(
        conn.execute(
            _usage.update()
            .where(_usage.c.share_id == share_id, _usage.c.growth_refused != refused)
            .values(growth_refused=refused)
        ).rowcount
    )


# Views ----------------------------------------------------------------------------------------

#: What lists are sorted by: the fullest share comes first.
ORDER = 'percent_full'
_SHOWN = {
    **{name: _usage.c[name] for name in (*Measured._fields,)},
    'name': _shares.c.name,
    'project_id': _shares.c.project_id,
    'size': _shares.c.size,
    'host': _instances.c.host,
}


def _select() -> sa.Select[Any]:
    # Each share has one main instance. The outer join keeps databases from reading these first, and sorting all shares.
    return (
        sa.select(*(column.label(name) for name, column in _SHOWN.items()))
        .select_from(_usage)
        .join(_shares, _shares.c.id == _usage.c.share_id)
        .outerjoin(_instances, _MAIN)
        .where(~_shares.c.deletion_deferred)
    )


def get(conn: Connection, ctx: context.RequestContext, share_id: str) -> Row[Any]:
    """Return how full a share of the caller's project is (of any, for an administrator).

    :raises errors.NotFound: there is no such share, or it was not measured yet.
    """
    share = shares.get(conn, ctx, share_id, own=True)
    row = conn.execute(_select().where(_usage.c.share_id == share.id)).first()
    if row is None:
        raise errors.NotFound(f'The usage of share {share_id} is not known.', code='share_usage_not_known')
    return row


def history(
    conn: Connection, ctx: context.RequestContext, share_id: str, series: values.Series
) -> list[Row[Any]]:
    """Return the points of a series of a share that the caller may see as with ``get``, the oldest first."""
    return points(conn, shares.get(conn, ctx, share_id, own=True).id, series)


def points(conn: Connection, share_id: str, series: values.Series) -> list[Row[Any]]:
    """Return the points of a series of a share of any project, the oldest first."""
    return list(
        conn.execute(
            sa.select(
                _history.c.measured_at,
                _history.c.used_bytes,
                _history.c.limit_bytes,
                _history.c.snapshot_bytes,
            )
            .where(
                _history.c.share_id == share_id,
                _history.c.resolution == series.seconds,
                _history.c.measured_at >= series.begin(timeutils.utcnow()),
            )
            .order_by(_history.c.measured_at)
        )
    )


def list_usage(
    conn: Connection, filters: Mapping[str, Any], page: paging.Page, *, project_id: str | None
) -> list[Row[Any]]:
    """Return how full the shares of a project are (None: of all). Shares in the recycle bin are left out.

    Filters: ``host`` (a backend or a pool), and ``min_percent``.
    """
    query = _select().where(~_shares.c.is_soft_deleted)
    if project_id is not None:
        query = query.where(_shares.c.project_id == project_id)
    if filters.get('host') is not None:
        query = query.where(hosts.below(_instances.c.host, filters['host']))
    if filters.get('min_percent') is not None:
        query = query.where(_usage.c.percent_full >= filters['min_percent'])
    return list(conn.execute(page.apply(query, {ORDER: _usage.c[ORDER]}, tie=_usage.c.share_id)))
