# SPDX-License-Identifier: Apache-2.0
"""Actions on access rules of snapshots. All queued rules reach the backend in one call."""

from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, states
from manila_lite.actions import access_targets
from manila_lite.context import RequestContext
from manila_lite.db.core import limits, transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import access, shares, snapshot_access, snapshots
from manila_lite.workflow import snapshot_access as snapshot_access_workflow

#: States of a rule that is already being removed.
_GOING = frozenset({states.SNAPSHOT_ACCESS['revoke'].during, states.SNAPSHOT_ACCESS['deny'].during})
#: Statuses of a snapshot that is being removed, and its rules with it.
_ENDING = frozenset({states.SNAPSHOT['delete'].during, states.SNAPSHOT['unmanage'].during})


def allow(ctx: RequestContext, snapshot_id: str, wanted: dict[str, Any], *, ipv6: bool = True) -> Row[Any]:
    """Queue a new read-only access rule of a snapshot in ``queued_to_apply``. Return its row.

    ``wanted``: access_type, access_to.

    :raises errors.Invalid: access_to is not valid, the rule exists already, or the snapshot cannot be mounted, or has the
        access rules of its share (Manila API 2.99).
    :raises errors.OverLimit: the snapshot has as many rules as it may have.
    """
    access_type = wanted['access_type']
    with ctx.db.writer() as conn:
        snapshot, share = _locked(conn, ctx, snapshot_id)
        access_to = access_targets.check(access_type, wanted['access_to'], ipv6=ipv6)
        _must_mount(snapshot, share)
        if share.snapshot_inherit_share_access_support:
            raise _inherited(snapshot, share)
        access_targets.must_be_of_backend(conn, share, access_type)
        rules = snapshot_access.of_snapshot(conn, snapshot_id)
        if any(
            access_targets.is_same_client(access_type, access_to, rule.access_to)
            for rule in rules
            if rule.access_type == access_type
        ):
            raise errors.Invalid(
                f'access_to: snapshot {snapshot_id} has an access rule for {access_type} {access_to} already.',
                code='access_rule_exists',
            )
        limits.check_one_more(ctx.conf, 'access_rules', f'snapshot {snapshot_id}', len(rules))
        rule_id = uuidutils.generate_uuid()
        transitions.create(
            conn,
            states.SNAPSHOT_ACCESS,
            {'id': rule_id, 'snapshot_id': snapshot_id, 'access_type': access_type, 'access_to': access_to},
        )
        snapshot_access_workflow.begin(conn, ctx, snapshot_id, share.host, share.project_id)
        return snapshot_access.get(conn, snapshot_id, rule_id)


def _locked(conn: Connection, ctx: RequestContext, snapshot_id: str) -> tuple[Any, Any]:
    """Return the snapshot and its share. The access rules of both are locked until the transaction ends."""
    access.lock(conn, snapshots.get(conn, ctx, snapshot_id).share_id)
    snapshot = snapshots.get(conn, ctx, snapshot_id)
    return snapshot, shares.get(conn, ctx.elevated(), snapshot.share_id)


def _must_mount(snapshot: Row[Any], share: Row[Any]) -> None:
    if not share.mount_snapshot_support:
        raise errors.Invalid(
            f'Snapshot {snapshot.id} cannot be mounted: the share type of its share has no '
            'mount_snapshot_support.',
            code='mount_snapshot_not_supported',
        )
    if snapshot.status != 'available' or not share.host:
        raise errors.Invalid(
            f'Snapshot {snapshot.id} is {snapshot.status}; it can be mounted when it is available.',
            code='snapshot_not_available',
        )


def _inherited(snapshot: Row[Any], share: Row[Any]) -> errors.Invalid:
    return errors.Invalid(
        f'Snapshot {snapshot.id} has the access rules of share {share.id}, and none of its own.',
        code='snapshot_inherits_access',
    )


def deny(ctx: RequestContext, snapshot_id: str, access_id: str) -> None:
    """Queue a snapshot's access rule for removal in ``queued_to_deny``. Its sessions end with it.

    A rule that is being denied already counts as success.

    :raises errors.NotFound: the snapshot has no such rule.
    :raises errors.Invalid: the snapshot has no such rule, and has those of its share. Own ones, from before Manila API 2.99
        was served in full, can be denied.
    :raises errors.WrongState: the snapshot is being deleted or unmanaged, and its rules with it.
    """
    with ctx.db.writer() as conn:
        snapshot, share = _locked(conn, ctx, snapshot_id)
        rule = _rule(conn, snapshot, share, access_id)
        if rule.state in _GOING:
            return
        if snapshot.status in _ENDING:
            raise errors.WrongState(
                f'Snapshot {snapshot_id} is {snapshot.status}; its access rules are deleted with it.'
            )
        transitions.begin(conn, states.SNAPSHOT_ACCESS, 'revoke', access_id)
        snapshot_access_workflow.begin(conn, ctx, snapshot_id, share.host, share.project_id)


def _rule(conn: Connection, snapshot: Row[Any], share: Row[Any], access_id: str) -> Row[Any]:
    try:
        return snapshot_access.get(conn, snapshot.id, access_id)
    except errors.NotFound:
        if share.snapshot_inherit_share_access_support:
            raise _inherited(snapshot, share) from None
        raise


def deny_all(conn: Connection, ctx: RequestContext, share: Row[Any]) -> None:
    """Queue all rules of the share's snapshots for removal.

    The caller has locked the share (``access.lock``).
    """
    rules = snapshot_access.of_share(conn, share.id) if share.host else []
    transitions.begin_many(conn, states.SNAPSHOT_ACCESS, 'revoke', [rule.id for rule in rules])
    for snapshot_id in sorted({rule.snapshot_id for rule in rules}):
        snapshot_access_workflow.begin(conn, ctx, snapshot_id, share.host, share.project_id)
