# SPDX-License-Identifier: Apache-2.0
"""Task states of shares and share servers, for the doctor."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor.operations import operation_on, since
from manila_lite.db.queries import share_migration, share_server_migration

#: Task states of a migration that goes on.
_GOING_ON = tuple(state.value for state in states.Migration if state not in states.MIGRATION_ENDS)
_shares, _servers, _networks = models.shares, models.share_servers, models.share_networks
_instances, _sources = models.share_instances, models.share_servers.alias('sources')


def _is_left(machine: states.StateMachine, status: sa.Column[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a source with this status is being deleted, or could not be."""
    verb = machine['delete']
    return status.in_((verb.during, verb.fail))


#: By resource type: its table, the kind of its migrations, the condition that the source of the last one is still there, and
#: the project of a row.
_MOVING: dict[str, tuple[sa.Table, str, sa.ColumnElement[bool], Any]] = {
    states.SHARE.resource_type: (
        _shares,
        share_migration.KIND,
        sa.exists().where(
            _instances.c.share_id == _shares.c.id,
            _instances.c.is_secondary,
            _instances.c.replica_state.is_(None),
            _is_left(states.SHARE, _instances.c.status),
        ),
        _shares.c.project_id,
    ),
    states.SHARE_SERVER.resource_type: (
        _servers,
        share_server_migration.KIND,
        sa.exists().where(
            _sources.c.id.in_((_servers.c.id, _servers.c.source_share_server_id)),
            _is_left(states.SHARE_SERVER, _sources.c.status),
        ),
        sa.select(_networks.c.project_id)
        .where(_networks.c.id == _servers.c.share_network_id)
        .scalar_subquery(),
    ),
}


def task_states_of(conn: Connection, resource_ids: Iterable[str]) -> dict[str, str | None]:
    """Return the task states of these shares and share servers, by id, in one statement."""
    ids = tuple(resource_ids)
    if not ids:
        return {}
    parts = [
        sa.select(table.c.id, table.c.task_state).where(table.c.id.in_(ids))
        for table in (models.shares, models.share_servers)
    ]
    return {row.id: row.task_state for row in conn.execute(sa.union_all(*parts))}


def list_ended(conn: Connection, resource_type: str, resource_id: str | None = None) -> list[Row[Any]]:
    """Return shares or share servers (or only one) whose task state is that of a migration, and that are not migrated.

    Those that have moved wait in ``migration_completing`` for the deletion of a source that did not end its exports, also if a
    try of it failed.
    """
    table, kind, source_is_left, project_id = _MOVING[resource_type]
    migration = sa.exists().where(operation_on(table.c.id, models.operations.c.kind == kind))
    closing = sa.and_(table.c.task_state == states.Migration.COMPLETING, source_is_left)
    query = (
        sa.select(table.c.id, project_id.label('project_id'), table.c.task_state, since(table))
        .where(table.c.task_state.in_(_GOING_ON), ~migration, ~closing)
        .order_by(table.c.id)
    )
    return list(conn.execute(query if resource_id is None else query.where(table.c.id == resource_id)))
