# SPDX-License-Identifier: Apache-2.0
"""Share groups, their snapshots and backups in a transient status, with and without the operation that will end it."""

from collections.abc import Iterator
from typing import Any

from manila_lite import states
from manila_lite.db import doctor_groups, transitions
from manila_lite.db.engine import Connection
from manila_lite.operations.doctor.finding import Desk, Finding, Mend


def find(conn: Connection, desk: Desk) -> Iterator[Finding]:
    """Yield them. What nothing will end shows that it failed: mostly in error, from where its owner can delete it."""
    for machine in (states.SHARE_GROUP, states.SHARE_GROUP_SNAPSHOT, states.SHARE_BACKUP):
        for row in doctor_groups.find(conn, machine):
            why, wrong = 'no operation will end this', True
            if row.operation_id is not None:
                why, wrong = f'see its operation {row.operation_id} ({row.operation_kind})', row.operation_state == 'parked'
            yield Finding(machine.noun, row.id, row.state, why, wrong, project_id=row.project_id, age=desk.age(row.since),
                          mend=None if row.operation_id else _failed(machine, row))


def _failed(machine: states.Machine, row: Any) -> Mend:
    to = next(verb.fail for verb in machine.verbs.values() if verb.during == row.state)

    def mend(conn: Connection, desk: Desk) -> str | None:
        left = [found for found in doctor_groups.find(conn, machine) if found.id == row.id and found.operation_id is None]
        if left and transitions.settle(conn, machine, (row.id,), row.state, to):
            return 'is in error, and can be deleted' if to == 'error' else f'is {to} again'
        return None
    return mend
