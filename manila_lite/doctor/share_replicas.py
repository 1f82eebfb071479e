# SPDX-License-Identifier: Apache-2.0
"""Replicas in a transient status or with a wrong replica state. For the status of active ones, see shares."""

import functools
from collections.abc import Iterator

from manila_lite import states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.doctor import share_replicas
from manila_lite.db.queries import access
from manila_lite.doctor.finding import Finding, RepairContext, one_each, outlook

#: The verb of each status that only an operation on the replica itself ends, or that only an administrator sets.
_VERBS = {
    states.SHARE[verb].during: verb
    for verb in ('create', 'delete', 'promote', 'migrate', 'receive', 'server_migrate')
}


def find(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield replicas in a transient status."""
    for row in one_each(share_replicas.list_in_transition(conn)):
        why, wrong = outlook(row)
        yield Finding(
            'share replica',
            row.id,
            row.state,
            f'of share {row.share_id}: {why}',
            wrong,
            about=row.host or '',
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=None if row.operation_id else functools.partial(_fail, replica_id=row.id),
        )


def _fail(conn: Connection, repair: RepairContext, replica_id: str) -> str | None:
    """End the status as failed. Then the replica can be deleted, or brought up to date."""
    for row in share_replicas.list_in_transition(conn, replica_id):
        if row.operation_id is None and row.state in _VERBS:
            verb = _VERBS[row.state]
            transitions.fail(conn, states.SHARE, verb, replica_id)
            return f'{verb} was interrupted: {states.SHARE[verb].fail}'
    return None


def find_contradicting(conn: Connection, repair: RepairContext) -> Iterator[Finding]:
    """Yield replicas whose replica state says another one of them is active than the share has."""
    for row in share_replicas.list_contradicting(conn):
        why = (
            f'of share {row.share_id}: it is not the active one'
            if row.is_secondary
            else f'of share {row.share_id}: it is the active one'
        )
        yield Finding(
            'share replica',
            row.id,
            f'replica state {row.state}',
            why,
            wrong=True,
            about=row.host or '',
            project_id=row.project_id,
            age=repair.age(row.since),
            mend=functools.partial(_correct, share_id=row.share_id, replica_id=row.id),
        )


def _correct(conn: Connection, repair: RepairContext, share_id: str, replica_id: str) -> str | None:
    """Correct the replica state. Its next update says whether a replica is in sync."""
    access.lock(conn, share_id)
    for row in share_replicas.list_contradicting(conn, replica_id):
        to = states.Replica.OUT_OF_SYNC if row.is_secondary else states.Replica.ACTIVE
        transitions.set_replica_state(conn, replica_id, to)
        return f'its replica state is {to}'
    return None
