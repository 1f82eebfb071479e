# SPDX-License-Identifier: Apache-2.0
"""Shares, snapshots and access rules in a transient status, with and without the operation that will end it."""

from collections.abc import Iterable, Iterator
from typing import Any

from manila_lite import states
from manila_lite.db import doctor
from manila_lite.db.engine import Connection
from manila_lite.operations.doctor import again, grants
from manila_lite.operations.doctor.finding import Desk, Finding, Mend


def find_shares(conn: Connection, desk: Desk) -> Iterator[Finding]:
    """Yield shares in a transient status, and those whose rules are said to be on their way and are not."""
    noun = states.SHARE.noun
    yield from _all(desk, noun, doctor.shares(conn), lambda row: again.stuck(noun, row.id))
    for row in doctor.shares_out_of_step(conn):
        yield Finding(noun, row.id, f'rules {row.access_rules_status}', 'no access rule is on its way', wrong=True,
                      about=row.host or '', project_id=row.project_id, age=desk.age(row.since), mend=grants.rules(row.id))


def find_snapshots(conn: Connection, desk: Desk) -> Iterator[Finding]:
    """Yield snapshots in a transient status."""
    noun = states.SNAPSHOT.noun
    yield from _all(desk, noun, doctor.snapshots(conn), lambda row: again.stuck(noun, row.id))


def find_rules(conn: Connection, desk: Desk) -> Iterator[Finding]:
    """Yield access rules in a transient state."""
    yield from _all(desk, states.ACCESS.noun, doctor.rules(conn), lambda row: grants.rules(row.share_id))


def _all(desk: Desk, noun: str, rows: Iterable[Any], mend: Any) -> Iterator[Finding]:
    chosen: dict[str, Any] = {}
    for row in rows:        # beside the open operation there may be parked ones
        if row.id not in chosen or row.operation_state == 'open':
            chosen[row.id] = row
    for row in chosen.values():
        yield _one(desk, noun, row, mend(row))


def _one(desk: Desk, noun: str, row: Any, mend: Mend) -> Finding:
    if row.operation_id is None:
        why, wrong = 'no operation will end this', True
    else:
        why = f'see its operation {row.operation_id} ({row.operation_kind})'
        wrong = row.operation_state == 'parked'
    return Finding(noun, row.id, row.state, why, wrong, about=row.host or '', project_id=row.project_id,
                   age=desk.age(row.since), mend=None if row.operation_id else mend)
