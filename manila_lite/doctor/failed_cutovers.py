# SPDX-License-Identifier: Apache-2.0
"""Migrations that were parked after their cut-over: they cannot be undone, only tried again."""

from typing import Any

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import operations
from manila_lite.db.queries import server_migration as server_migration_queries
from manila_lite.db.queries import share_migration as share_migration_queries
from manila_lite.doctor.finding import RepairContext
from manila_lite.engine.plans import Work
from manila_lite.workflow import server_migration as server_migration_workflow
from manila_lite.workflow import share_migration as share_migration_workflow

_FAILED = {server_migration_queries.KIND: server_migration_workflow.fail_cutover,
           share_migration_queries.KIND: share_migration_workflow.fail_cutover}


def is_cut(op: Row, data: dict[str, Any] | None) -> bool:
    """Say whether an operation is a migration whose target may hold the only data. ``data`` is the operation's data."""
    return op.kind in _FAILED and bool((data or {}).get('cut'))


def fail(conn: Connection, repair: RepairContext, operation_id: str) -> str | None:
    """End the parked migration as failed, like the plan does: everything that moves is in error, and kept."""
    if not operations.fail_parked(conn, operation_id):
        return None
    op = operations.get(conn, operation_id)
    if op is None:
        return None
    work = Work(op, dict(op.data), context.behind(op, repair.services), None)
    _FAILED[op.kind](conn, work, errors.ManilaLiteError(op.error or ''))
    return 'its cut-over has failed, and everything is kept: say migration_complete once more'
