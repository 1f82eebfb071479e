# SPDX-License-Identifier: Apache-2.0
"""Migrations in their first phase whose target's backend is down, and task states of migrations that are not there.

The source of the former can be freed without the target.
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import migrations as migration_rows
from manila_lite.db.queries import operations
from manila_lite.doctor.finding import Finding, RepairContext
from manila_lite.doctor.recovery_table import read_data
from manila_lite.operation_data.migrations import Reached
from manila_lite.states import Migration
from manila_lite.workflow.migration import Migrations
from manila_lite.workflow.share_migration import SHARES
from manila_lite.workflow.share_server_migration import SERVERS

_MIGRATIONS: dict[str, Migrations[Any]] = {migrations.kind: migrations for migrations in (SHARES, SERVERS)}
#: Task states in which nobody wants the migration to go on: an operator cancelled it, or reset the state by hand.
_UNWANTED = (None, Migration.CANCELLING, Migration.CANCELLED, Migration.ERROR, Migration.SUCCESS)


def is_cancellable(op: Row[Any]) -> bool:
    """Say whether an operation is a migration whose cut-over has not begun."""
    return op.kind in _MIGRATIONS and not (read_data(op, Reached) or Reached(cut=True)).cut


def unwanted(conn: Connection, ops: Iterable[Row[Any]]) -> set[str]:
    """Return the ids of those of the operations that are migrations which nobody wants to go on."""
    mine = {op.resource_id: op.id for op in ops if is_cancellable(op)}
    task_states = migration_rows.task_states_of(conn, mine)
    return {mine[resource_id] for resource_id, task_state in task_states.items() if task_state in _UNWANTED}


def cancel(conn: Connection, repair: RepairContext, op: Row[Any]) -> str | None:
    """Cancel an unwanted migration by force."""
    row = operations.get(conn, op.id)
    if row is None or op.id not in unwanted(conn, [op]):
        return None
    migrations = _MIGRATIONS[op.kind]
    work = migrations.work(row, context.of_operation(row, repair.services))
    try:
        migrations.cancel_by_force(conn, work)
    except errors.WrongState:
        return None
    return 'it is cancelled without its destination, which deletes the copy when it is up'


def find_ended(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield shares and share servers with the task state of a migration that is not under way."""
    for migrations in _MIGRATIONS.values():
        for row in migration_rows.list_ended(conn, migrations.resource_type):
            yield Finding(
                migrations.name,
                row.id,
                f'task state {row.task_state}',
                'no migration of it is under way',
                wrong=True,
                project_id=row.project_id,
                age=repair.age(row.since),
                mend=functools.partial(_forget, migrations=migrations, resource_id=row.id),
            )


def _forget(
    conn: Connection, repair: RepairContext, migrations: Migrations[Any], resource_id: str
) -> str | None:
    """Clear the task state."""
    for row in migration_rows.list_ended(conn, migrations.resource_type, resource_id):
        if not migrations.swap_task_state(conn, resource_id, (row.task_state,), None):
            return None
        return 'has no task state any more'
    return None
