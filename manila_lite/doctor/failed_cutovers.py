# SPDX-License-Identifier: Apache-2.0
"""Migrations that were parked after their cut-over: they cannot be undone, only tried again."""

from typing import Any

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import operations
from manila_lite.doctor.finding import RepairContext
from manila_lite.doctor.recovery_table import read_data
from manila_lite.operation_data.migrations import Reached
from manila_lite.workflow.migration import Migrations
from manila_lite.workflow.share_migration import SHARES
from manila_lite.workflow.share_server_migration import SERVERS

_MIGRATIONS: dict[str, Migrations[Any]] = {migrations.kind: migrations for migrations in (SHARES, SERVERS)}


def is_cut(op: Row[Any]) -> bool:
    """Say whether an operation, whose row has its data as ``text``, is a migration whose target may hold the only data."""
    return op.kind in _MIGRATIONS and (read_data(op, Reached) or Reached()).cut


def fail(conn: Connection, repair: RepairContext, operation_id: str) -> str | None:
    """End the parked migration as failed, like the plan does: everything that moves is in error, and kept."""
    if not operations.fail_parked(conn, operation_id):
        return None
    op = operations.get(conn, operation_id)
    if op is None:
        return None
    migrations = _MIGRATIONS[op.kind]
    work = migrations.work(op, context.of_operation(op, repair.services))
    migrations.fail_cut_over(conn, work, errors.ManilaLiteError(op.error or ''))
    return 'its cut-over failed, and all data are kept: repeat migration_complete'
