# SPDX-License-Identifier: Apache-2.0
"""Access rules in a transient state that no operation will bring to the backend."""

from typing import Any

from manila_lite import states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.doctor import shares
from manila_lite.db.queries import access, operations
from manila_lite.doctor.finding import RepairContext
from manila_lite.operation_data.access import ApplyRules
from manila_lite.workflow.access import apply_rules


def mend_rules(
    conn: Connection,
    repair: RepairContext,
    share_id: str,
    *,
    once_more: bool = True,
    data: ApplyRules | None = None,
) -> str | None:
    """Mend a share's access rules, and their summary status, if no operation will end them.
    ``once_more``: the backend may be told again.
    """
    access.lock(conn, share_id)
    row, pending = shares.find_share(conn, share_id), access.pending_rules(conn, share_id)
    is_under_way = operations.is_open(conn, access.unique_key(share_id))
    if row is None or is_under_way or not (pending or row.access_rules_status == states.Rules.SYNCING):
        return None
    if row.host and once_more:
        transitions.set_rules_status(conn, row.instance_id, states.Rules.SYNCING)
        apply_rules(conn, repair.owner(row), share_id, row.host, data=data)
        return 'the backend gets the access rules again'
    return _give_up(conn, row, pending)


def _give_up(conn: Connection, row: Row[Any], pending: list[Row[Any]]) -> str:
    """End the rules of which no backend can be told: delete those to be deleted if there is no backend, fail the others."""
    for state in {rule.state for rule in pending}:
        rule_ids = [rule.id for rule in pending if rule.state == state]
        verb = next(verb for verb in states.ACCESS.verbs.values() if verb.during == state)
        if verb.ok is None and not row.host:
            transitions.remove(conn, states.ACCESS, rule_ids, state)
        else:
            transitions.settle(conn, states.ACCESS, rule_ids, state, verb.fail)
    bad = access.rule_states(conn, row.id) - {'active'}
    transitions.set_rules_status(conn, row.instance_id, states.Rules.ERROR if bad else states.Rules.ACTIVE)
    return 'the access rules cannot be applied: error'
