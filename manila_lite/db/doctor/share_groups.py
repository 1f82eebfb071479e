# SPDX-License-Identifier: Apache-2.0
"""Share groups, group snapshots and backups in a transient status, each with its operation."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.doctor.operations import OPERATION_COLUMNS, operation_on, since

_TABLES = {
    states.SHARE_GROUP.resource_type: models.share_groups,
    states.SHARE_GROUP_SNAPSHOT.resource_type: models.share_group_snapshots,
    states.SHARE_BACKUP.resource_type: models.share_backups,
}


def list_in_transition(conn: Connection, machine: states.StateMachine) -> list[Row[Any]]:
    """Return id, project_id, state and ``since`` of rows in a transient status, with the operation that will end it."""
    table = _TABLES[machine.resource_type]
    return list(
        conn.execute(
            sa.select(
                table.c.id,
                table.c.project_id,
                table.c.status.label('state'),
                since(table),
                *OPERATION_COLUMNS,
            )
            .outerjoin(models.operations, operation_on(table.c.id))
            .where(table.c.status.in_(machine.transient))
            .order_by(table.c.created_at, table.c.id)
        )
    )
