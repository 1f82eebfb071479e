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
#: By resource type: its table, the kinds of its migrations and of the operations that delete sources, the columns with the
#: resources of the latter, and the project of a row.
_MOVING: dict[str, tuple[sa.Table, str, str, tuple[Any, ...], Any]] = {
    states.SHARE.resource_type: (
        _shares,
        share_migration.KIND,
        share_migration.RELEASE,
        (_shares.c.id,),
        _shares.c.project_id,
    ),
    states.SHARE_SERVER.resource_type: (
        _servers,
        share_server_migration.KIND,
        share_server_migration.RELEASE,
        (_servers.c.id, _servers.c.source_share_server_id),
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

    Those that have moved wait in ``migration_completing`` for the deletion of a source that did not end its exports.
    """
    table, kind, release, sources, project_id = _MOVING[resource_type]
    operations = models.operations
    migration = sa.exists().where(operation_on(table.c.id, operations.c.kind == kind))
    closing = sa.and_(
        table.c.task_state == states.Migration.COMPLETING,
        sa.or_(*(sa.exists().where(operation_on(one, operations.c.kind == release)) for one in sources)),
    )
    query = (
        sa.select(table.c.id, project_id.label('project_id'), table.c.task_state, since(table))
        .where(table.c.task_state.in_(_GOING_ON), ~migration, ~closing)
        .order_by(table.c.id)
    )
    return list(conn.execute(query if resource_id is None else query.where(table.c.id == resource_id)))
