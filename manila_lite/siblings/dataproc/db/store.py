# SPDX-License-Identifier: Apache-2.0
"""SQL of templates and clusters. Statuses are written by ``db.transitions`` only."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as oslo_db_exception
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors
from manila_lite.siblings.dataproc.db import models

#: Tables with rows that users name, by their resource type.
NAMED: dict[str, sa.Table] = {
    'node group template': models.node_group_templates,
    'cluster template': models.cluster_templates,
    'cluster': models.clusters,
}
_groups = models.node_groups


def _visible(table: sa.Table, project_id: str | None) -> sa.ColumnElement[bool]:
    return (
        sa.true()
        if project_id == EVERY_PROJECT
        else sa.or_(table.c.project_id == project_id, table.c.is_public.is_(True))
    )


#: In place of a project's id: the caller sees the rows of all projects.
EVERY_PROJECT = '*'


def get(
    conn: Connection, resource_type: str, resource_id: str, project_id: str | None, *, own: bool = False
) -> Row[Any]:
    """Return a row that the project sees: its own, or, unless ``own``, a public one, or any for ``EVERY_PROJECT``.

    :raises errors.NotFound: the project sees no such row.
    """
    table = NAMED[resource_type]
    scope = table.c.project_id == project_id if own else _visible(table, project_id)
    row = conn.execute(sa.select(table).where(table.c.id == resource_id, scope)).first()
    if row is None:
        raise errors.NotFound.of(resource_type, resource_id)
    return row


def list_visible(
    conn: Connection,
    resource_type: str,
    project_id: str | None,
    filters: Mapping[str, Any],
    *,
    limit: int,
    marker: str | None = None,
    sort_by: str = 'created_at',
    descending: bool = False,
) -> list[Row[Any]]:
    """Return the rows that the project sees after ``marker`` (the id of the last one seen), one more than ``limit`` if
    there are more.
    """
    table = NAMED[resource_type]
    query = sa.select(table).where(_visible(table, project_id))
    for name, value in filters.items():
        query = query.where(table.c[name] == value)
    column = table.c[sort_by]
    if marker is not None:
        last = conn.execute(
            sa.select(column, table.c.id).where(table.c.id == marker, _visible(table, project_id))
        ).first()
        if last is None:
            raise errors.Invalid(f'marker: there is no {resource_type} {marker}.')
        position, seen = sa.tuple_(column, table.c.id), sa.tuple_(*map(sa.literal, last))
        query = query.where(position < seen if descending else position > seen)
    order = [one.desc() if descending else one.asc() for one in (column, table.c.id)]
    return list(conn.execute(query.order_by(*order).limit(limit + 1)))


@contextlib.contextmanager
def refuse_duplicate_name(resource_type: str, name: Any) -> Iterator[None]:
    """Translate the error of a duplicate name, around a transaction.

    :raises errors.Exists: the project has one of that name already.
    """
    try:
        yield
    except oslo_db_exception.DBDuplicateEntry:
        raise errors.Exists(f'There is a {resource_type} called {name} already.') from None


def insert(conn: Connection, resource_type: str, values: Mapping[str, Any]) -> str:
    """Insert a template, and return its id."""
    template_id = uuidutils.generate_uuid()
    conn.execute(NAMED[resource_type].insert(), {'id': template_id, **values})
    return template_id


def update(conn: Connection, resource_type: str, resource_id: str, values: Mapping[str, Any]) -> None:
    """Set values of a row."""
    if values:
        conn.execute(
            NAMED[resource_type].update().where(NAMED[resource_type].c.id == resource_id).values(**values)
        )


def delete(conn: Connection, resource_type: str, template_id: str) -> None:
    """Delete a row."""
    conn.execute(NAMED[resource_type].delete().where(NAMED[resource_type].c.id == template_id))


def names_of_users(conn: Connection, resource_type: str, template_id: str) -> list[str]:
    """Return the names of the clusters and templates made of a template, which must be deleted first."""
    clusters, cluster_templates = models.clusters, models.cluster_templates
    if resource_type == 'cluster template':
        return list(
            conn.execute(
                sa.select(clusters.c.name).where(clusters.c.cluster_template_id == template_id)
            ).scalars()
        )
    owner = sa.func.coalesce(clusters.c.name, cluster_templates.c.name)
    joined = _groups.outerjoin(clusters, clusters.c.id == _groups.c.cluster_id).outerjoin(
        cluster_templates, cluster_templates.c.id == _groups.c.cluster_template_id
    )
    query = sa.select(owner).select_from(joined).where(_groups.c.node_group_template_id == template_id)
    return list(conn.execute(query).scalars())


# Node groups ------------------------------------------------------------------------------------


def add_groups(conn: Connection, column: str, owner: str, groups: Iterable[Mapping[str, Any]]) -> None:
    """Add node groups to the cluster or cluster template (``column`` says which)."""
    if rows := [{'id': uuidutils.generate_uuid(), column: owner, **group} for group in groups]:
        conn.execute(_groups.insert(), rows)


def drop_groups(conn: Connection, column: str, owner: str) -> None:
    """Delete the node groups of the owner."""
    conn.execute(_groups.delete().where(_groups.c[column] == owner))


def groups(conn: Connection, column: str, owners: Iterable[str]) -> dict[str, list[Any]]:
    """Return node groups by owner, sorted by name."""
    by_owner: dict[str, list[Any]] = {}  # by its type a row has no column "count", but a method
    for row in conn.execute(
        sa.select(_groups).where(_groups.c[column].in_(tuple(owners))).order_by(_groups.c.name)
    ):
        by_owner.setdefault(getattr(row, column), []).append(row)
    return by_owner


def resize(conn: Connection, group_id: str, count: int) -> None:
    """Set the number of nodes that the node group is to have."""
    conn.execute(_groups.update().where(_groups.c.id == group_id).values(count=count))


def drop_empty_group(conn: Connection, group_id: str) -> None:
    """Delete the node group if it is to have no nodes and has none."""
    has = sa.exists().where(models.instances.c.node_group_id == _groups.c.id)
    conn.execute(_groups.delete().where(_groups.c.id == group_id, _groups.c.count == 0, ~has))


# Nodes and mounts -------------------------------------------------------------------------------


def instances(conn: Connection, clusters: Iterable[str]) -> list[Row[Any]]:
    """Return the nodes of clusters, sorted by name."""
    table = models.instances
    return list(
        conn.execute(sa.select(table).where(table.c.cluster_id.in_(tuple(clusters))).order_by(table.c.name))
    )


def mounts(conn: Connection, clusters: Iterable[str]) -> list[Row[Any]]:
    """Return the mounts of clusters, with ``cluster_id`` and ``node``, sorted by node and path."""
    node, mount = models.instances, models.share_mounts
    return list(
        conn.execute(
            sa.select(mount, node.c.cluster_id, node.c.name.label('node'))
            .join(node)
            .where(node.c.cluster_id.in_(tuple(clusters)))
            .order_by(node.c.name, mount.c.path)
        )
    )


def update_instance(conn: Connection, instance_id: str, **values: Any) -> None:
    """Set values of the node's row."""
    conn.execute(models.instances.update().where(models.instances.c.id == instance_id).values(**values))


def update_mount(conn: Connection, mount_id: str, **values: Any) -> None:
    """Set values of the mount's row."""
    conn.execute(models.share_mounts.update().where(models.share_mounts.c.id == mount_id).values(**values))


def taken_references(conn: Connection) -> frozenset[str]:
    """Return the references of all nodes that are in a cluster."""
    return frozenset(
        conn.execute(
            sa.select(models.instances.c.infra_ref).where(models.instances.c.infra_ref.is_not(None))
        ).scalars()
    )


def levels_of_grant(conn: Connection, grant_id: str) -> list[str]:
    """Return the levels that mounts need of an access rule; none if the rule is not needed."""
    mounts = models.share_mounts
    return list(conn.execute(sa.select(mounts.c.level).where(mounts.c.grant_id == grant_id)).scalars())


def clusters_in_status(conn: Connection, statuses: Iterable[str]) -> list[Row[Any]]:
    """Return all clusters in one of these statuses."""
    return list(conn.execute(sa.select(models.clusters).where(models.clusters.c.status.in_(tuple(statuses)))))


def find_cluster(conn: Connection, cluster_id: str) -> Row[Any] | None:
    """Return a cluster, or None."""
    return conn.execute(sa.select(models.clusters).where(models.clusters.c.id == cluster_id)).first()


def grants_of(conn: Connection, owner: str) -> list[str]:
    """Return the ids of the grants that were made for ``owner`` ("cluster <id>")."""
    grants = models.share_grants
    mine = grants.c.reason.contains(f' {owner} on ', autoescape=True)
    return list(conn.execute(sa.select(grants.c.id).where(mine)).scalars())


def grants_with_fault(conn: Connection) -> list[Row[Any]]:
    """Return the grants whose access rules could not be made or released at the last try: share, reason and fault."""
    grants = models.share_grants
    return list(
        conn.execute(
            sa.select(grants.c.share_id, grants.c.reason, grants.c.fault).where(grants.c.fault.is_not(None))
        )
    )


def rules_of_grants(conn: Connection, grant_ids: Iterable[str]) -> dict[str, str | None]:
    """Return the access rule of each of these grants, by the grant's id."""
    grants = models.share_grants
    rows = conn.execute(sa.select(grants.c.id, grants.c.access_id).where(grants.c.id.in_(tuple(grant_ids))))
    return {row.id: row.access_id for row in rows}
