# SPDX-License-Identifier: Apache-2.0
"""Access rules at the backend, on the fast lane: all rules that are queued when the operation runs go in one driver call.

A rule that is queued while the driver is at work raises the operation's ``requested_count``, so that it runs once more before
it ends: no rule waits for a later request, and none is lost when the process dies.
"""

import contextlib
import dataclasses
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Any

from oslo_log import log

from manila_lite import encryption, errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    operation_claims,
    resource_locks,
    share_backups,
    share_server_migration,
)
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans.task import as_share
from manila_lite.operation_data.access import ApplyRules
from manila_lite.workflow import share_replicas, snapshot_access
from manila_lite.workflow.verbs import notify, share_instance, share_row

LOG = log.getLogger(__name__)

#: Queued state and the verb that takes a rule from it to the backend.
_VERBS = {'queued_to_apply': 'apply', 'queued_to_update': 'change', 'queued_to_deny': 'deny'}

#: Seconds until another look at a share that is being deleted or unmanaged, or that is about to change its backend.
DELETED_SOON, MOVED_SOON = 5.0, 0.5


def sync(work: Work[ApplyRules]) -> None:
    """Bring the backend to exactly the rules that shall be in force, and keep the result of each in ``work.data``.

    :raises errors.Again: the share is being deleted or unmanaged (only if that fails do its rules matter), or is moving
        to another backend, which will be told.
    """
    with work.ctx.db.writer() as conn:
        # In the order in which requests take the locks, or two would wait for each other.
        access.lock(conn, work.resource_id)
        work.hold(conn)
        row = share_row(conn, work)
        if row.status in (
            states.SHARE['delete'].during,
            states.SHARE['unmanage'].during,
            states.SHARE['defer'].during,
        ):
            raise errors.Again(DELETED_SOON)
        if row.status == states.SHARE['promote'].during or _is_moving(conn, row):
            raise errors.Again(MOVED_SOON)
        work.read_again(conn)
        rules = access.pending_rules(conn, row.id)
        begin_queued(conn, states.ACCESS, rules)
        share = as_share(conn, row)
        copy_clients = access.copy_clients_of(conn, (row.id,))
        wanted = access.rules_in_force(conn, (row.id,), copy_clients).get(row.id, [])
    with hiding(work, work.resource_id):
        results = work.service.driver.update_access(share, wanted)
    must_cover_all(wanted, results)
    work.data.seen, work.data.replicated = [rule.id for rule in rules], bool(row.replication_type)
    work.data.shut_out = [copy_client.backup_id for copy_client in copy_clients if copy_client.rule is None]
    work.data.results = _with_encrypted_keys(work, results)


def _is_moving(conn: Connection, row: Any) -> bool:
    """Say whether clients of the share (its row) are being moved to another backend at this moment."""
    if row.status == states.SHARE['server_migrate'].during:
        return share_server_migration.is_completing(conn, row.share_server_id)
    return bool(
        row.status == states.SHARE['migrate'].during and row.task_state == states.Migration.COMPLETING
    )


def _with_encrypted_keys(
    work: Work[ApplyRules], results: Mapping[str, values.RuleResult]
) -> dict[str, values.RuleResult]:
    """Return the results, by rule id, for the operation's data: with the keys that the backend gave encrypted."""
    with_keys = {rule_id: result.access_key for rule_id, result in results.items() if result.access_key}
    if not with_keys:
        return dict(results)
    with work.ctx.db.writer() as conn:
        return {
            **results,
            **{
                rule_id: dataclasses.replace(results[rule_id], access_key=encryption.encrypt(conn, key))
                for rule_id, key in with_keys.items()
            },
        }


def must_cover_all(wanted: Iterable[Any], results: Container[str]) -> None:
    """Check that the backend gave a result for each rule.

    :raises errors.ManilaLiteError: it did not.
    """
    missing = [rule.id for rule in wanted if rule.id not in results]
    if missing:
        raise errors.ManilaLiteError(f'The backend did not report a result for {len(missing)} access rules.')


@contextlib.contextmanager
def hiding(work: Work[Any], share_id: str) -> Iterator[None]:
    """Have the backend apply rules of the share.

    :raises errors.Final: with the driver's message, unless some rule hides to whom it is given.
    """
    try:
        yield
    except errors.Final as error:
        with work.ctx.db.reader() as conn:
            hidden = resource_locks.locks_of_rules(conn, share_id, resource_locks.SHOW)
        if not hidden:
            raise
        LOG.warning('%s: the backend cannot apply its access rules: %s', work.resource_id, error)
        raise errors.Final(
            'The backend cannot apply the access rules of the share. The log of the share manager has the '
            'cause.',
            detail=error.detail,
        ) from None


def synced(conn: Connection, work: Work[ApplyRules]) -> None:
    """Set every rule of this run to active or error, or delete it, and update the share's summary status."""
    access.lock(conn, work.resource_id)
    seen, results = set(work.data.seen), work.data.results
    refused = {rule_id: result.error for rule_id, result in results.items() if result.error}
    rules = [
        rule for rule in access.of_share(conn, work.resource_id) if rule.id in seen or rule.id in results
    ]
    for backup_id in refused.keys() - {rule.id for rule in rules}:
        LOG.warning(
            '%s: the client that copies it for backup or instance %s is refused: %s',
            work.resource_id,
            backup_id,
            refused[backup_id],
        )
    if work.data.shut_out:
        share_backups.clear_copy_clients(conn, work.data.shut_out)
        access.clear_copy_clients(conn, work.data.shut_out)
    hidden = resource_locks.locks_of_rules(conn, work.resource_id, resource_locks.SHOW) if refused else {}
    _keep_keys_of_copy_clients(
        conn, {key: result for key, result in results.items() if key not in {rule.id for rule in rules}}
    )
    for rule in rules:
        key = results[rule.id].access_key if rule.id in results else None
        if key and encryption.decrypt(key) != encryption.decrypt(rule.access_key):
            access.update(conn, rule.id, access_key=key)
        if rule.id in refused:
            LOG.warning('%s: access rule %s is refused: %s', work.resource_id, rule.id, refused[rule.id])
            notify(
                conn,
                work,
                'SHARE',
                Action.UPDATE_ACCESS_RULES,
                Detail.UNSUPPORTED_CLIENT_ACCESS,
                errors.Final(
                    f'Rule {rule.id}; the user that created it can see its client.'
                    if rule.id in hidden
                    else f'Rule {rule.access_type} {rule.access_to}: {refused[rule.id]}'
                ),
            )
    settle(conn, states.ACCESS, rules, refused)
    if any(result.access_key for result in results.values()):
        # A key opens the share: it is kept with its rule, and nowhere else.
        operation_claims.move(
            conn, work.op.id, work.op.owner, data=dataclasses.replace(work.data, results={}).to_json()
        )
    summarise(conn, work)
    snapshot_access.begin_all(conn, work.ctx, (work.resource_id,), work.op.host, inheriting=True)
    if work.data.replicated:
        share_replicas.apply_rules(conn, work.ctx, work.resource_id)


def _keep_keys_of_copy_clients(conn: Connection, results: Mapping[str, values.RuleResult]) -> None:
    for instance_id, result in results.items():
        if result.access_key:
            access.set_key_of_copy_client(conn, instance_id, result.access_key)


def begin_queued(conn: Connection, machine: states.StateMachine, rules: Iterable[Any]) -> None:
    """Take the queued ones among the rules to the backend."""
    for queued, verb in _VERBS.items():
        if named := [rule.id for rule in rules if rule.state == queued]:
            transitions.begin_many(conn, machine, verb, named)


def settle(
    conn: Connection, machine: states.StateMachine, rules: Iterable[Any], refused: Collection[str]
) -> None:
    """End the verbs that took the rules to the backend. It grants a rule that it refuses no more, even if it did before."""
    for row in (machine.verbs[verb] for verb in _VERBS.values() if verb in machine.verbs):
        mine = [rule.id for rule in rules if rule.state == row.during]
        good = [rule_id for rule_id in mine if rule_id not in refused]
        if good and row.ok:
            transitions.settle(conn, machine, good, row.during, row.ok)
        elif good:
            transitions.remove(conn, machine, good, row.during)
        if bad := [rule_id for rule_id in mine if rule_id in refused]:
            transitions.settle(conn, machine, bad, row.during, row.fail)
    if refused:
        transitions.settle(conn, machine, refused, 'active', 'error')


def not_synced(conn: Connection, work: Work[ApplyRules], error: Exception) -> None:
    """Set all queued rules to error after the backend failed for good, and tell the owner why, unless the share is gone."""
    access.lock(conn, work.resource_id)
    if share_instance(conn, work) is None:
        return
    rules = access.pending_rules(conn, work.resource_id)
    begin_queued(conn, states.ACCESS, rules)
    again = access.pending_rules(conn, work.resource_id)
    settle(conn, states.ACCESS, again, {rule.id for rule in again})
    summarise(conn, work)
    if again or not work.data.quiet:
        notify(conn, work, 'SHARE', Action.UPDATE_ACCESS_RULES, Detail.UNKNOWN_ERROR, error)


def summarise(conn: Connection, work: Work[Any]) -> None:
    """Set the share's ``access_rules_status`` by the states of its rules."""
    present = access.rule_states(conn, work.resource_id)
    if present <= {'active'}:
        status = states.Rules.ACTIVE
    elif present & (states.ACCESS.transient | set(_VERBS)):
        status = states.Rules.SYNCING
    else:
        status = states.Rules.ERROR
    instance = share_instance(conn, work)
    if instance is not None:
        transitions.set_rules_status(conn, instance, status)


PLANS = [Plan(access.SYNC, (Step(sync),), synced, not_synced, data=ApplyRules)]
