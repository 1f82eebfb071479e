# SPDX-License-Identifier: Apache-2.0
"""Actions on access rules. All queued rules of a share reach the backend in one call."""

from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, states
from manila_lite.actions import access_targets, resource_locks, share_bin
from manila_lite.actions.metadata import Metadata
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values, limits, transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import access_rule_metadata
from manila_lite.db.queries import access, share_replicas, shares
from manila_lite.workflow.access import apply_rules

#: States of a rule that is already being removed.
_GOING = frozenset({states.ACCESS['revoke'].during, states.ACCESS['deny'].during})


def allow(
    ctx: RequestContext,
    share_id: str,
    wanted: dict[str, Any],
    *,
    ipv6: bool = True,
    despite_errors: bool = True,
    despite_replicas: bool = True,
) -> tuple[Any, dict[str, str]]:
    """Queue a new access rule in ``queued_to_apply``. Return its row and its metadata.

    ``wanted``: access_type, access_to, and any of access_level (default rw), metadata, lock_visibility, lock_deletion,
    lock_reason. The rule and its locks are created together or not at all. ``despite_errors``: allow this while another
    rule of the share is in error. ``despite_replicas``: allow this while a replica of the share is in error.

    :raises errors.Invalid: access_to is not valid, the rule exists already, or the share's state does not allow it.
    :raises errors.OverLimit: the share has as many rules as it may have.
    """
    access_type = wanted['access_type']
    metadata = wanted.get('metadata') or {}
    with ctx.db.writer() as conn:
        share = _get_changeable_share(conn, ctx, share_id)
        access_to = access_targets.check(access_type, wanted['access_to'], ipv6=ipv6)
        access_targets.must_be_of_backend(conn, share, access_type)
        _must_have_no_broken_replica(conn, share, despite_replicas)
        if not despite_errors and share.access_rules_status == states.Rules.ERROR:
            raise errors.Invalid(
                f'Share {share_id} has access rules in error; deny them first.', code='access_rules_in_error'
            )
        others = access.clients_of_type(conn, share_id, access_type)
        if any(access_targets.is_same_client(access_type, access_to, other) for other in others):
            raise errors.Invalid(
                f'access_to: share {share_id} has an access rule for {access_type} {access_to} already.',
                code='access_rule_exists',
            )
        limits.check_one_more(ctx.conf, 'access_rules', f'share {share_id}', access.count(conn, share_id))
        access_id = uuidutils.generate_uuid()
        transitions.create(
            conn,
            states.ACCESS,
            {
                'id': access_id,
                'share_id': share_id,
                'access_type': access_type,
                'access_to': access_to,
                'access_level': wanted.get('access_level') or 'rw',
            },
        )
        key_values.insert(conn, access_rule_metadata, access_id, metadata, ctx.conf)
        row = access.get(conn, resource_locks.lookup_context(ctx), access_id)
        resource_locks.lock_rule(conn, ctx, row, wanted)
        _begin_sync(conn, ctx, share)
        return row, metadata


def _must_have_no_broken_replica(conn: Connection, share: Row[Any], despite_replicas: bool) -> None:
    if despite_replicas or not share.replication_type:
        return
    for row in share_replicas.list_non_active(conn, share.id):
        if row.status == 'error':
            raise errors.Invalid(
                f'Replica {row.id} of share {share.id} is in error; a change of access rules then needs '
                'microversion 2.74.',
                code='replica_in_error',
            )


def _get_changeable_share(conn: Connection, ctx: RequestContext, share_id: str) -> Row[Any]:
    """Return a share that rules may be added to. Its rules are locked until the transaction ends."""
    access.lock(conn, share_id)
    share = shares.get(conn, resource_locks.lookup_context(ctx), share_id, own=True)
    share_bin.must_be_out(share)
    if share.status != 'available' or not share.host:
        raise errors.Invalid(
            f'Share {share_id} is {share.status}; its access rules can be changed when it is available.',
            code='share_not_available',
        )
    return share


def _begin_sync(conn: Connection, ctx: RequestContext, share: Row[Any]) -> None:
    """Begin the operation that sends all queued rules of the share to its backend.

    :raises errors.WrongState: the share is on no backend.
    """
    if not share.host:
        raise errors.WrongState(f'Share {share.id} is on no backend, so its access rules cannot be applied.')
    # The worker writes these rows in the same order, so two transactions never wait for each other.
    transitions.set_rules_status(conn, share.instance_id, states.Rules.SYNCING)
    apply_rules(conn, ctx, share.id, share.host, owner=share.project_id)


def deny(
    ctx: RequestContext,
    share_id: str,
    access_id: str,
    *,
    unrestrict: bool = False,
    despite_replicas: bool = True,
) -> None:
    """Queue an access rule for removal in ``queued_to_deny``. Its sessions end and its locks go with it.

    A rule that is being denied already counts as success. The share may have any status but ``deleting`` and
    ``unmanage_starting``. ``unrestrict``: deny a locked rule too, as far as the caller may lift the locks.

    :raises errors.NotFound: the share has no such rule.
    :raises errors.WrongState: the share is being deleted or unmanaged, and its rules with it.
    :raises errors.Forbidden: the rule is locked.
    """
    looking = resource_locks.lookup_context(ctx)
    with ctx.db.writer() as conn:
        access.lock(conn, share_id)
        share = shares.get(conn, looking, share_id, own=True)
        rule = access.get(conn, looking, access_id)
        if rule.share_id != share_id:
            raise errors.NotFound.of('access rule', access_id)
        share_bin.must_be_out(share)
        _must_have_no_broken_replica(conn, share, despite_replicas)
        if rule.state in _GOING:
            return
        if share.status in (states.SHARE['delete'].during, states.SHARE['unmanage'].during):
            raise errors.WrongState(
                f'Share {share_id} is {share.status}; its access rules are deleted with it.'
            )
        resource_locks.check_deny(conn, ctx, rule, unrestrict=unrestrict)
        transitions.begin(conn, states.ACCESS, 'revoke', access_id)
        _begin_sync(conn, ctx, share)


def deny_all(conn: Connection, ctx: RequestContext, share: Row[Any]) -> None:
    """Queue all rules of the share for removal.

    The caller has locked the share (``access.lock``).

    :raises errors.Forbidden: a rule has a resource lock that the caller may not lift.
    """
    resource_locks.check_deny_all(conn, ctx, share.id)
    if transitions.begin_many(
        conn, states.ACCESS, 'revoke', [rule.id for rule in access.of_share(conn, share.id)]
    ):
        _begin_sync(conn, ctx, share)


def change_level(ctx: RequestContext, access_id: str, level: str) -> Row[Any]:
    """Queue a change of a rule's access level in ``queued_to_update``. Return its row.

    A rule that has the level already is left alone.

    :raises errors.NotFound: there is no such rule.
    :raises errors.Invalid: the share's state does not allow it.
    :raises errors.WrongState: the rule is being changed by another request.
    :raises errors.Forbidden: the rule has a resource lock that the caller may not lift.
    """
    looking = resource_locks.lookup_context(ctx)
    with ctx.db.reader() as conn:
        share_id = access.get(conn, looking, access_id).share_id
    with ctx.db.writer() as conn:
        share = _get_changeable_share(conn, ctx, share_id)
        rule = access.get(conn, looking, access_id)
        if rule.access_level == level:
            return rule
        resource_locks.check_change(conn, ctx, rule)
        transitions.begin(conn, states.ACCESS, 'update', access_id, access_level=level)
        _begin_sync(conn, ctx, share)
        return access.get(conn, looking, access_id)


def _get_open(conn: Connection, ctx: RequestContext, access_id: str) -> None:
    rule = access.get(conn, ctx, access_id)
    share_bin.must_be_out(shares.get(conn, resource_locks.lookup_context(ctx), rule.share_id))


#: Actions on the metadata of access rules.
METADATA = Metadata(access_rule_metadata, access.get, _get_open)
