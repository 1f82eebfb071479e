# SPDX-License-Identifier: Apache-2.0
"""Task states of shares and share servers, for the doctor."""

from collections.abc import Iterable

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.core.engine import Connection


def task_states_of(conn: Connection, resource_ids: Iterable[str]) -> dict[str, str | None]:
    """Return the task states of these shares and share servers, by id, in one statement."""
    ids = tuple(resource_ids)
    if not ids:
        return {}
    parts = [sa.select(table.c.id, table.c.task_state).where(table.c.id.in_(ids))
             for table in (models.shares, models.share_servers)]
    return {row.id: row.task_state for row in conn.execute(sa.union_all(*parts))}
