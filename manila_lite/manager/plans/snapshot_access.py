# SPDX-License-Identifier: Apache-2.0
"""Snapshots that clients mount: exported at the backend by their access rules, on the fast lane."""

from typing import Any

from oslo_log import log

from manila_lite import errors, states, values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, snapshot_access, snapshots
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans.access import (
    DELETED_SOON,
    MOVED_SOON,
    begin_queued,
    hiding,
    must_cover_all,
    settle,
)
from manila_lite.manager.plans.task import load_snapshot
from manila_lite.operation_data.access import ApplySnapshotRules
from manila_lite.operation_data.export_locations import Exported
from manila_lite.workflow.verbs import notify

LOG = log.getLogger(__name__)

_GOING = frozenset(states.SNAPSHOT[verb].during for verb in ('delete', 'unmanage', 'defer'))
#: Statuses of a share that a host may copy, with its snapshots.
_COPIED = frozenset(states.SHARE[verb].during for verb in ('migrate', 'server_migrate'))
_NOT_YET = frozenset(states.SNAPSHOT[verb].during for verb in ('create', 'manage'))

_NOT_HERE = (
    'Snapshots of this share are not exported: its type has no mount_snapshot_support, or the backend does not '
    'support it.'
)


def is_served(snapshot: values.Snapshot, share: Any, driver: Any) -> bool:
    """Say whether the snapshot can be mounted: both its share and the driver must support that."""
    return bool(share.mount_snapshot_support) and hasattr(driver, 'serve_snapshot')


def first(work: Work[Exported]) -> None:
    """Export a new snapshot at the backend, if it can be mounted, and keep its export locations in ``work.data``."""
    with work.ctx.db.reader() as conn:
        rows = snapshots.with_share(conn, work.resource_id)
        rules = _wanted(conn, *rows) if rows else []
    snapshot = load_snapshot(work, work.resource_id)
    if rows:
        serve_first(work, snapshot, rows[1], rules)


def serve_first(
    work: Work[Exported], snapshot: values.Snapshot, share: Any, rules: list[values.AccessRule]
) -> None:
    """Do as ``first`` for a snapshot, its share (a row) and its access rules."""
    if is_served(snapshot, share, work.service.driver):
        served = work.service.driver.serve_snapshot(snapshot, rules)
        work.data.exports = list(served.export_locations)


def first_done(conn: Connection, work: Work[Exported]) -> None:
    """Store the snapshot's export locations."""
    snapshot_access.set_export_locations_of(conn, {work.resource_id: work.data.exports})


def _wanted(conn: Connection, row: Any, share: Any) -> list[values.AccessRule]:
    return snapshot_access.granted_rules(
        conn, row.id, share.id if share.snapshot_inherit_share_access_support else None
    )


def serve(work: Work[ApplySnapshotRules]) -> None:
    """Bring the backend to exactly the snapshot's rules, and keep their results and the export locations in ``work.data``.

    :raises errors.Again: it does not exist yet, is being deleted, or moves to another backend, which will be told.
    :raises errors.Final: it is gone.
    """
    with work.ctx.db.writer() as conn:
        row, share = _rows(conn, work)
        access.lock(conn, row.share_id)
        work.hold(conn)
        row, share = _rows(conn, work)
        _must_stand(row, share)
        work.read_again(conn)
        rules = snapshot_access.pending_rules(conn, row.id)
        begin_queued(conn, states.SNAPSHOT_ACCESS, rules)
        wanted = _wanted(conn, row, share)
        for copy_client in access.copy_clients_of(conn, (share.id,)) if share.status in _COPIED else ():
            if copy_client.rule is not None:
                wanted = access.joined(wanted, copy_client.rule, 'ro')
    snapshot = load_snapshot(work, row.id)
    if is_served(snapshot, share, work.service.driver):
        with hiding(work, row.share_id):
            served = work.service.driver.serve_snapshot(snapshot, wanted)
    else:
        served = values.ServedSnapshot(
            (), dict.fromkeys((rule.id for rule in wanted), values.RuleResult(error=_NOT_HERE))
        )
    must_cover_all(wanted, served.rules)
    work.data.seen = [rule.id for rule in rules]
    work.data.refused = {rule_id: result.error for rule_id, result in served.rules.items() if result.error}
    work.data.exports = list(served.export_locations)


def _rows(conn: Connection, work: Work[Any]) -> tuple[Any, Any]:
    rows = snapshots.with_share(conn, work.resource_id)
    if rows is None:
        raise errors.Final(f'Snapshot {work.resource_id} is gone.')
    return rows


def _must_stand(row: Any, share: Any) -> None:
    if row.status in _GOING:
        raise errors.Again(DELETED_SOON)
    if row.status in _NOT_YET or (
        share.status == states.SHARE['migrate'].during and share.task_state == states.Migration.COMPLETING
    ):
        raise errors.Again(MOVED_SOON)


def served(conn: Connection, work: Work[ApplySnapshotRules]) -> None:
    """Set every rule of this run to active or error, or delete it, and store the export locations."""
    rows = snapshots.with_share(conn, work.resource_id)
    if rows is None:
        return
    access.lock(conn, rows[0].share_id)
    first_done(conn, work)
    refused = work.data.refused
    own = {rule.id: rule for rule in snapshot_access.of_snapshot(conn, work.resource_id)}
    for rule_id in refused.keys() & own.keys():
        LOG.warning('%s: access rule %s is refused: %s', work.resource_id, rule_id, refused[rule_id])
        notify(
            conn,
            work,
            'SHARE_SNAPSHOT',
            Action.UPDATE_ACCESS_RULES,
            Detail.UNSUPPORTED_CLIENT_ACCESS,
            errors.Final(f'Rule {own[rule_id].access_type} {own[rule_id].access_to}: {refused[rule_id]}'),
        )
    seen = [own[rule_id] for rule_id in work.data.seen if rule_id in own]
    settle(conn, states.SNAPSHOT_ACCESS, seen, refused)


def not_served(conn: Connection, work: Work[Any], error: Exception) -> None:
    """Set all queued rules to error after the backend failed for good, and tell the owner why."""
    rows = snapshots.with_share(conn, work.resource_id)
    if rows is None:
        return
    access.lock(conn, rows[0].share_id)
    rules = snapshot_access.pending_rules(conn, work.resource_id)
    begin_queued(conn, states.SNAPSHOT_ACCESS, rules)
    again = snapshot_access.pending_rules(conn, work.resource_id)
    settle(conn, states.SNAPSHOT_ACCESS, again, {rule.id for rule in again})
    notify(conn, work, 'SHARE_SNAPSHOT', Action.UPDATE_ACCESS_RULES, Detail.UNKNOWN_ERROR, error)


PLANS = [Plan(snapshot_access.KIND, (Step(serve),), served, not_served, data=ApplySnapshotRules)]
