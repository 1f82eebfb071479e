# SPDX-License-Identifier: Apache-2.0
"""Access rules at the backend, on the fast lane: whatever is queued when it runs goes in one driver call.

A rule queued while the driver is at work raises the operation's ``wanted``, so that it runs once more
before it ends: no rule waits for a later request, and none is lost when the process dies.
"""

from collections.abc import Iterable
from typing import Any

from oslo_log import log
from manila_lite.db.engine import Connection

from manila_lite import errors, states
from manila_lite.db import access, shares, transitions
from manila_lite.db.messages import Action, Detail
from manila_lite.manager.task import as_share, share_row, tell
from manila_lite.operations import Plan, Step, Work

LOG = log.getLogger(__name__)

#: Queued state and the verb that takes a rule from it to the backend.
_VERBS = {'queued_to_apply': 'apply', 'queued_to_update': 'change', 'queued_to_deny': 'deny'}


def sync(work: Work) -> None:
    """The backend has exactly the rules that shall be in force; each rule's fate is in ``work.data``."""
    with work.ctx.db.writer() as conn:
        row = share_row(conn, work)
        rules = access.pending(conn, row.id)
        for queued, verb in _VERBS.items():
            named = [rule.id for rule in rules if rule.state == queued]
            if named:
                transitions.begin_many(conn, states.ACCESS, verb, named)
        share = as_share(conn, row)
        wanted = access.granted(conn, (row.id,)).get(row.id, [])
    work.data['seen'] = [rule.id for rule in rules]
    if row.status in ('deleting', 'error_deleting', 'creating'):
        results: Any = {}
    else:
        results = work.service.driver.update_access(share, wanted)
    work.data['results'] = {ident: [result.error, result.access_key] for ident, result in results.items()}


def synced(conn: Connection, work: Work) -> None:
    """Every rule that this run saw is active, gone, or in error with its reason; the share's state follows."""
    seen, results = set(work.data['seen']), work.data['results']
    rules = [rule for rule in access.pending(conn, work.resource_id) if rule.id in seen]
    for rule in rules:
        reason, key = results.get(rule.id, (None, None))
        if key and key != rule.access_key:
            access.update(conn, rule.id, access_key=key)
        if reason:
            LOG.warning('%s: access rule %s is refused: %s', work.resource_id, rule.id, reason)
            tell(conn, work, 'SHARE', Action.UPDATE_ACCESS_RULES, Detail.UNSUPPORTED_CLIENT_ACCESS,
                 errors.Final(f'Rule {rule.access_type} {rule.access_to}: {reason}'))
    _settle(conn, rules, {ident for ident, (reason, _) in results.items() if reason})
    summarise(conn, work)


def _settle(conn: Connection, rules: Iterable[Any], refused: set[str]) -> None:
    for verb in ('apply', 'change', 'deny'):
        row = states.ACCESS[verb]
        mine = [rule.id for rule in rules if rule.state == row.during]
        bad = [ident for ident in mine if ident in refused]
        good = [ident for ident in mine if ident not in refused]
        if good and row.ok is None:
            transitions.remove(conn, states.ACCESS, good, row.during)
        elif good:
            transitions.settle(conn, states.ACCESS, good, row.during, row.ok)
        if bad:
            transitions.settle(conn, states.ACCESS, bad, row.during, row.fail)


def not_synced(conn: Connection, work: Work, error: Exception) -> None:
    """The backend failed for good: what was queued is in error, and the owner is told why."""
    rules = access.pending(conn, work.resource_id)
    for queued, verb in _VERBS.items():
        transitions.begin_many(conn, states.ACCESS, verb, [rule.id for rule in rules if rule.state == queued])
    again = access.pending(conn, work.resource_id)
    _settle(conn, again, {rule.id for rule in again})
    summarise(conn, work)
    tell(conn, work, 'SHARE', Action.UPDATE_ACCESS_RULES, Detail.UNKNOWN_ERROR, error)


def summarise(conn: Connection, work: Work) -> None:
    """The share's ``access_rules_status`` is what its rules come to."""
    found = access.states_of(conn, work.resource_id)
    if found <= {'active'}:
        status = states.Rules.ACTIVE
    elif found & (states.ACCESS.transient | set(_VERBS)):
        status = states.Rules.SYNCING
    else:
        status = states.Rules.ERROR
    try:
        instance = shares.get(conn, work.ctx, work.resource_id).instance_id
    except errors.NotFound:
        return
    transitions.rules_status(conn, instance, status)


PLANS = [Plan('access.sync', (Step(sync),), synced, not_synced)]
