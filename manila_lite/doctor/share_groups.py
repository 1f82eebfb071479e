# SPDX-License-Identifier: Apache-2.0
"""Share groups, group snapshots and share backups in a transient status, with and without an operation to end it."""

import functools
from collections.abc import Iterator
from typing import Any

from manila_lite import states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import share_groups
from manila_lite.doctor.finding import Finding, RepairContext, outlook


def find(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield them. Those without an operation can be mended: they are set to the failed status, mostly error."""
    for machine in (states.SHARE_GROUP, states.SHARE_GROUP_SNAPSHOT, states.SHARE_BACKUP):
        for row in share_groups.list_in_transition(conn, machine):
            yield Finding(
                machine.resource_name,
                row.id,
                row.state,
                *outlook(row),
                project_id=row.project_id,
                age=repair.age(row.since),
                mend=None if row.operation_id else functools.partial(_fail, machine=machine, row=row),
            )


def _fail(conn: Connection, repair: RepairContext, machine: states.StateMachine, row: Row[Any]) -> str | None:
    to = next(verb.fail for verb in machine.verbs.values() if verb.during == row.state)
    still_stuck = any(
        now.id == row.id and now.operation_id is None
        for now in share_groups.list_in_transition(conn, machine)
    )
    if still_stuck and transitions.settle(conn, machine, (row.id,), row.state, to):
        return 'is in error, and can be deleted' if to == 'error' else f'is {to} again'
    return None
