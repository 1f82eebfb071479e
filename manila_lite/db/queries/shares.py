# SPDX-License-Identifier: Apache-2.0
"""Shares with their instance, in one joined SELECT. Metadata and exports take one more statement each, by owner ids."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row
from sqlalchemy.sql import schema

from manila_lite import context, errors
from manila_lite.db import models
from manila_lite.db.core import key_values, paging
from manila_lite.db.core.prepared import Among, Query, Write, WriteAmong, WriteEach
from manila_lite.db.core.rows import updater
from manila_lite.db.queries import affinity, hosts

_shares = models.shares
_instances = models.share_instances
_types = models.share_types
_zones = models.availability_zones
_exports = models.export_locations

#: Columns of a share row beside those of ``shares``.
_JOINED = {
    'instance_id': _instances.c.id,
    'status': _instances.c.status,
    'access_rules_status': _instances.c.access_rules_status,
    'host': _instances.c.host,
    'share_type_id': _instances.c.share_type_id,
    'share_network_id': _instances.c.share_network_id,
    'share_server_id': _instances.c.share_server_id,
    'progress': _instances.c.progress,
    'share_type_name': _types.c.name,
    'availability_zone': _zones.c.name,
}

#: All columns that a list may be sorted by.
SORTABLE = {
    **{column.name: column for column in _shares.c},
    **_JOINED,
    'display_name': _shares.c.name,
    'display_description': _shares.c.description,
    'share_type': _instances.c.share_type_id,
    'availability_zone_id': _instances.c.availability_zone_id,
}


@functools.cache
def select(*, secondary: bool = False, replicas: bool = False) -> sa.Select[Any]:
    """Return the SELECT of share rows, each with the share's main instance; ``secondary``: with the second instance of a
    migration; ``replicas``: with a replica that is not the active one.
    """
    place = ~_instances.c.is_secondary
    if secondary or replicas:
        is_replica = _instances.c.replica_state.is_not(None)
        place = sa.and_(_instances.c.is_secondary, is_replica if replicas else ~is_replica)
    return (
        sa.select(*_shares.c, *(column.label(name) for name, column in _JOINED.items()))
        .join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, place))
        .outerjoin(_types, _types.c.id == _instances.c.share_type_id)
        .outerjoin(_zones, _zones.c.id == _instances.c.availability_zone_id)
    )


#: Shares that other projects see, too. Those in the recycle bin are their owner's matter.
_PUBLIC = sa.and_(_shares.c.is_public, ~_shares.c.is_soft_deleted)


@functools.cache
def _one(of: str) -> Query:
    query = select().where(_shares.c.id == sa.bindparam('share_id'))
    mine = _shares.c.project_id == sa.bindparam('project')
    there = query.where(~_shares.c.deletion_deferred)
    return Query({'any': query, 'own': there.where(mine), 'seen': there.where(sa.or_(mine, _PUBLIC))}[of])


def get(conn: Connection, ctx: context.RequestContext, share_id: str, *, own: bool = False) -> Row[Any]:
    """Return a share that the caller may see; with ``own``, only of their project (or of any, for an administrator).

    :raises errors.NotFound: there is none.
    :raises errors.Forbidden: with ``own``, it is a public share of another project.
    """
    wanted = {'share_id': share_id, 'project': ctx.project_id}
    row: Row[Any] | None = _one('any' if ctx.is_admin else 'own' if own else 'seen').first(conn, wanted)
    if row is not None:
        return row
    if own and _one('seen').first(conn, wanted) is not None:
        raise errors.Forbidden(
            f'Share {share_id} is public, but belongs to another project.', code='share_of_another_project'
        )
    raise errors.NotFound.of('share', share_id)


def find_by_instance(conn: Connection, instance_id: str) -> Row[Any] | None:
    """Return the share of an instance, or None."""
    return conn.execute(select().where(_instances.c.id == instance_id)).first()


def list_by_ids(conn: Connection, share_ids: Iterable[str]) -> dict[str, Row[Any]]:
    """Return shares of any project by id, in one statement, with the columns that schedulers and backends need.

    Each column of a row costs its driver of the database time, and a row has forty.
    """
    return {row.id: row for row in _BY_IDS.all(conn, tuple(share_ids))}


_FOR_BACKENDS = (
    'id',
    'project_id',
    'size',
    'share_proto',
    'name',
    'snapshot_id',
    'mount_point_name',
    'encryption_key_ref',
    'replication_type',
    'share_group_id',
    'source_share_group_snapshot_member_id',
    'mount_snapshot_support',
    'snapshot_inherit_share_access_support',
)
_BY_IDS = Among(
    sa.select(
        *(_shares.c[name] for name in _FOR_BACKENDS),
        *(
            _JOINED[name].label(name)
            for name in ('instance_id', 'host', 'share_type_id', 'share_network_id', 'share_server_id')
        ),
    ).join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary)),
    _shares.c.id,
    named=True,
)


def host_of(conn: Connection, share_id: str) -> str | None:
    """Return the host of a share of any project."""
    return conn.execute(
        sa.select(_instances.c.host).where(_instances.c.share_id == share_id, ~_instances.c.is_secondary)
    ).scalar()


def hosts_of(conn: Connection, share_ids: Iterable[str]) -> list[tuple[str | None, str]]:
    """Return the hosts and statuses of shares of any project."""
    named = tuple(share_ids)
    if not named:
        return []
    return [
        tuple(row)
        for row in conn.execute(
            sa.select(_instances.c.host, _instances.c.status).where(
                _instances.c.share_id.in_(named), ~_instances.c.is_secondary
            )
        )
    ]


def list_second_instances(
    conn: Connection, *, share_id: str | None = None, instance_id: str | None = None
) -> list[Row[Any]]:
    """Return the share with each of its second instances, or with that one: a migration's target, or its remains."""
    which = _shares.c.id == share_id if share_id else _instances.c.id == instance_id
    return list(conn.execute(select(secondary=True).where(which).order_by(_instances.c.id)))


_EQUAL = {
    **{
        name: _shares.c[name]
        for name in (
            'name',
            'user_id',
            'snapshot_id',
            'share_group_id',
            'mount_point_name',
            'description',
            'encryption_key_ref',
        )
    },
    **{
        name: _JOINED[name]
        for name in ('status', 'share_type_id', 'share_network_id', 'share_server_id', 'availability_zone')
    },
}


def _conditions(filters: dict[str, Any]) -> list[sa.ColumnElement[bool]]:
    where = paging.conditions(filters, _EQUAL, _EQUAL, ('name', 'description'))
    where.append(_shares.c.is_soft_deleted == bool(filters.get('is_soft_deleted')))
    if filters.get('host') is not None:
        where.append(hosts.below(_instances.c.host, filters['host']))
    where += key_values.matching(models.share_metadata, _shares.c.id, filters.get('metadata') or {})
    where += key_values.matching(
        models.share_type_extra_specs, _instances.c.share_type_id, filters.get('extra_specs') or {}
    )
    for key, column in (('export_location_id', _exports.c.id), ('export_location_path', _exports.c.path)):
        if filters.get(key) is not None:
            where.append(
                sa.exists().where(
                    _exports.c.share_instance_id == _instances.c.id,
                    column == filters[key],
                    *(() if filters.get('admin_exports') else (~_exports.c.is_admin_only,)),
                )
            )
    return where


def list_shares(
    conn: Connection,
    filters: dict[str, Any],
    page: paging.Page,
    *,
    project_id: str | None,
    public: bool = False,
    deferred: bool = False,
) -> list[Row[Any]]:
    """Return shares of a project (None: of all); with ``public``, also public shares of other projects; with
    ``deferred``, also shares whose deletion is deferred. The shares are either all in the recycle bin or all not.
    """
    if not paging.is_filtered(filters):
        shape = page.shape()
        return _unfiltered(shape, project_id is not None, public, deferred).all(
            conn, {'project': project_id, **page.values()}
        )
    query = _listed(filters, project_id, public, deferred)
    return list(conn.execute(page.apply(query, SORTABLE, tie=_shares.c.id)).all())


@functools.lru_cache(maxsize=256)
def _unfiltered(page: paging.Page, of_project: bool, public: bool, deferred: bool) -> Query:
    query = _listed({}, sa.bindparam('project') if of_project else None, public, deferred)
    # Of rows that an offset passes over, only the ids are read. Every share has one main instance, so none need be joined.
    alone = page.offset and getattr(SORTABLE.get(page.sort_key), 'table', None) is _shares
    where = query.whereclause if alone else None
    paged = page.apply(
        query if where is None else sa.select(_shares.c.id).where(where), SORTABLE, tie=_shares.c.id
    )
    if (public or not of_project) and page.sort_key == 'created_at':
        for dialect in (
            'mysql',
            'mariadb',
        ):  # otherwise they sort all shares instead of reading a page in order
            paged = paged.with_hint(_shares, 'FORCE INDEX (ix_shares_created_at_id)', dialect)
    if where is None:
        return Query(paged)
    ids = paged.subquery()
    return Query(page.sort(select().join(ids, ids.c.id == _shares.c.id), SORTABLE, tie=_shares.c.id))


def count(
    conn: Connection,
    filters: dict[str, Any],
    *,
    project_id: str | None,
    public: bool = False,
    deferred: bool = False,
) -> int:
    """Return how many shares ``list_shares`` would find without a page."""
    return conn.execute(
        sa.select(sa.func.count()).select_from(
            _listed(filters, project_id, public, deferred)
            .with_only_columns(_shares.c.id)
            .order_by(None)
            .subquery()
        )
    ).scalar_one()


def _listed(filters: dict[str, Any], project_id: Any, public: bool, deferred: bool) -> sa.Select[Any]:
    query = select().where(*_conditions(filters))
    if not deferred:
        query = query.where(~_shares.c.deletion_deferred)
    if project_id is not None:
        mine = _shares.c.project_id == project_id
        query = query.where(sa.or_(mine, _PUBLIC) if public else mine)
    return query


_INSERT = Write(_shares.insert())


def insert(conn: Connection, values: dict[str, Any], metadata: dict[str, str]) -> None:
    """Insert the share's row and metadata. Its instance follows by ``transitions.create``."""
    _INSERT.execute(conn, values)
    key_values.insert(conn, models.share_metadata, values['id'], metadata)


#: Values of the columns of a new share that are not given.
_UNSET = {
    column.key: column.default.arg if isinstance(column.default, schema.ScalarElementColumnDefault) else None
    for column in _shares.c
}


def as_inserted(
    values: Mapping[str, Any], instance: Mapping[str, Any], share_type_name: str, zone: str | None
) -> Any:
    """Return the row of a share that was just inserted, with its instance, from the values of both: as ``get`` reads it.

    ``values`` has ``created_at``; ``share_type_name`` and ``zone`` are the names of the type and the availability zone.
    """
    return _one('any').row(
        {
            **_UNSET,
            **values,
            'share_type_name': share_type_name,
            'availability_zone': zone,
            **{
                name: instance.get(column.key)
                for name, column in _JOINED.items()
                if column.table is _instances
            },
        }
    )


_NOW = Query(
    sa.select(_shares.c.project_id, _shares.c.size, _shares.c.is_soft_deleted).where(
        _shares.c.id == sa.bindparam('share_id')
    )
)


def now(conn: Connection, share_id: str) -> Any:
    """Return project and size of the share, and whether it is in the recycle bin, at this moment; None if it is gone."""
    return _NOW.first(conn, {'share_id': share_id})


def is_mount_point_taken(conn: Connection, mount_point_name: str) -> bool:
    """Say whether a share has the mount point name."""
    return bool(
        conn.execute(sa.select(sa.exists().where(_shares.c.mount_point_name == mount_point_name))).scalar()
    )


#: Set these values of the share. Never a status.
update = updater(_shares)


def update_sizes(conn: Connection, sizes: Mapping[str, int]) -> None:
    """Set the new sizes of shares, by id, and end their growth."""
    _SIZES.execute(conn, dict(sorted(sizes.items())))


_SIZES = WriteEach(_shares.update().values(target_size=None), _shares.c.id, _shares.c.size)


#: Set these values of the instance. Never a status.
update_instance = updater(_instances)


def update_instances(conn: Connection, instance_ids: Iterable[str], **values: Any) -> None:
    """Do as ``update_instance`` for several instances with the same values."""
    _set_many(tuple(sorted(values))).execute(
        conn, sorted(instance_ids), {f'new_{key}': value for key, value in values.items()}
    )


@functools.cache
def _set_many(names: tuple[str, ...]) -> WriteAmong:
    return WriteAmong(
        _instances.update().values(
            {name: sa.bindparam(f'new_{name}', type_=_instances.c[name].type) for name in names}
        ),
        _instances.c.id,
    )


def set_pools(conn: Connection, backend: str, pools: Mapping[str, str]) -> None:
    """Move these instances, by id, into these pools of the backend."""
    for pool in sorted(set(pools.values())):
        conn.execute(
            _instances.update()
            .values(host=f'{backend}#{pool}')
            .where(
                _instances.c.id.in_([instance_id for instance_id, wanted in pools.items() if wanted == pool])
            )
        )


def delete(conn: Connection, share_ids: Iterable[str]) -> None:
    """Delete the shares with all their dependent rows."""
    wanted = sorted(share_ids)
    affinity.remove_shares(conn, wanted)
    conn.execute(_shares.delete().where(_shares.c.id.in_(wanted)))


def owners_of(conn: Connection, share_ids: Iterable[str]) -> dict[str, str]:
    """Return the projects of shares, by id."""
    ids = tuple(share_ids)
    return dict(_OWNERS.all(conn, ids)) if ids else {}


_OWNERS = Among(sa.select(_shares.c.id, _shares.c.project_id), _shares.c.id)
