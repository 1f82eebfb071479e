# SPDX-License-Identifier: Apache-2.0
"""Actions on resource locks, and the checks by which locks refuse other actions."""

from collections.abc import Iterable
from typing import Any

from manila_lite import errors, states
from manila_lite.context import RequestContext
from manila_lite.db.core import limits
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import access, resource_locks, shares

USER, SERVICE, ADMIN = 'user', 'service', 'admin'
#: The lock contexts that a caller may touch, by the caller's own context.
_CHANGEABLE_CONTEXTS = {USER: {USER}, SERVICE: {USER, SERVICE}, ADMIN: {USER, SERVICE, ADMIN}}

#: Statuses of a share or rule that is being removed: a lock would come too late.
_GOING_SHARE = frozenset(
    status
    for verb in ('delete', 'defer', 'unmanage')
    for status in (states.SHARE[verb].during, states.SHARE[verb].fail)
)
_GOING_RULE = frozenset({states.ACCESS['revoke'].during, states.ACCESS['deny'].during})


def context_of(ctx: RequestContext) -> str:
    """Return the context of the caller: ``service``, ``admin`` or ``user``."""
    return SERVICE if ctx.can('service_role') else ADMIN if ctx.is_admin else USER


def lookup_context(ctx: RequestContext) -> RequestContext:
    """Return a context for lookups. For a service user, such as Nova, it finds resources of every project."""
    return ctx.elevated() if not ctx.is_admin and ctx.can('service_role') else ctx


def visible_project(ctx: RequestContext) -> str | None:
    """Return the project whose locks the caller may see, or None for all projects."""
    return None if ctx.can('resource_lock:get_all_projects') else ctx.project_id or ''


# Refusals ---------------------------------------------------------------------------------------


def refuse_if_locked(conn: Connection, ctx: RequestContext, share_id: str, doing: str = 'be deleted') -> None:
    """Refuse to remove a share that is locked against deletion, or whose rules have locks that the caller may not lift.

    Call it after the share's status was changed, or its rows were locked otherwise, so that no lock can be added in
    between. ``doing``: the refused action, for the message.

    :raises errors.Forbidden: there is such a lock; the message names the locks, and what to do next.
    """
    locks = resource_locks.deletion_locks(conn, share_id)
    if locks:
        raise errors.Forbidden(
            f'Share {share_id} cannot {doing} while it is locked: {_named(locks)}. Delete these resource locks first; the '
            'lock of an access rule is deleted with the rule.',
            code='share_locked',
        )
    for access_id, locks_of_rule in resource_locks.locks_of_rules(
        conn, share_id, resource_locks.DELETE
    ).items():
        if foreign := _not_liftable(ctx, locks_of_rule):
            raise errors.Forbidden(
                f'Share {share_id} cannot {doing} while its access rule {access_id} is locked by {_named(foreign)}. Ask the '
                'owner of the lock, or an administrator.',
                code='share_locked',
            )


def refuse_overwriting(conn: Connection, ctx: RequestContext, share_id: str) -> None:
    """Refuse to overwrite the data of a locked share: Nova, for example, locks shares that it mounts for its users.

    Call it like ``refuse_if_locked``.

    :raises errors.Conflict: the share is locked.
    """
    try:
        refuse_if_locked(conn, ctx, share_id, 'be overwritten')
    except errors.Forbidden as locked:
        raise errors.Conflict(str(locked), code='share_locked') from None


def delete_at_transfer(conn: Connection, ctx: RequestContext, share_id: str, transfer_id: str) -> None:
    """Mark all locks of a share and its rules for removal when the share is transferred to another project.

    Call it like ``refuse_if_locked``.

    :raises errors.Forbidden: the caller may not lift one of the locks.
    """
    if foreign := _not_liftable(ctx, resource_locks.locks_of_share(conn, share_id)):
        raise errors.Forbidden(
            f'Share {share_id} cannot be transferred: it or one of its access rules is locked by {_named(foreign)}. Ask the '
            'owner of the lock, or an administrator.',
            code='share_locked',
        )
    resource_locks.delete_at_transfer(conn, share_id, transfer_id)


def must_have_no_new_locks(conn: Connection, share_id: str, transfer_id: str) -> None:
    """Refuse a share that got a lock, on itself or on a rule, after it was offered for transfer.

    Call it like ``refuse_if_locked``.

    :raises errors.Forbidden: there is such a lock.
    """
    if left := [
        row for row in resource_locks.locks_of_share(conn, share_id) if row.transfer_id != transfer_id
    ]:
        raise errors.Forbidden(
            f'Share {share_id} was locked after the transfer was created: {_named(left)}. It can be '
            'accepted when these resource locks are deleted.',
            code='share_locked',
        )


def _named(locks: Iterable[Any]) -> str:
    return ', '.join(f'{row.id} (by {row.lock_context})' for row in locks)


def check_deny(conn: Connection, ctx: RequestContext, rule: Row[Any], *, unrestrict: bool) -> None:
    """Refuse to deny an access rule that is locked against deletion. ``unrestrict``: lift the locks if the caller may.

    The locks are deleted with the rule.

    :raises errors.Forbidden: the rule is locked.
    """
    locks = resource_locks.locks_of_rule(conn, rule.id, resource_locks.DELETE)
    if locks and not unrestrict:
        raise errors.Forbidden(
            f'Access rule {rule.id} cannot be denied: it is locked by {_named(locks)}. Deny it with '
            'unrestrict (version 2.82), or delete its locks first.',
            code='access_rule_locked',
        )
    _must_lift(ctx, rule.id, locks, 'be denied')


def check_change(conn: Connection, ctx: RequestContext, rule: Row[Any]) -> None:
    """Refuse to change the level of a rule that is locked against deletion, unless the caller may lift all such locks.

    A change of level can amount to a deletion. The locks stay.

    :raises errors.Forbidden: the rule is locked.
    """
    _must_lift(ctx, rule.id, resource_locks.locks_of_rule(conn, rule.id, resource_locks.DELETE), 'be changed')


def check_deny_all(conn: Connection, ctx: RequestContext, share_id: str) -> None:
    """Refuse to deny all rules of a share if one has a lock that the caller may not lift.

    :raises errors.Forbidden: there is such a lock.
    """
    for access_id, locks in resource_locks.locks_of_rules(conn, share_id, resource_locks.DELETE).items():
        _must_lift(ctx, access_id, locks, 'be denied')


def _must_lift(ctx: RequestContext, access_id: str, locks: list[Any], doing: str) -> None:
    if foreign := _not_liftable(ctx, locks):
        raise errors.Forbidden(
            f'Access rule {access_id} cannot {doing}: it has the lock {_named(foreign)}. Ask the owner '
            'of the lock, or an administrator.',
            code='access_rule_locked',
        )


def _not_liftable(ctx: RequestContext, locks: list[Any]) -> list[Any]:
    """Return the locks that the caller may not lift."""
    return [lock for lock in locks if not _may_change(ctx, lock, 'resource_lock:delete')]


def _may_change(ctx: RequestContext, lock: Row[Any], policy: str) -> bool:
    target = {'project_id': lock.project_id, 'user_id': lock.user_id}
    return lock.lock_context in _CHANGEABLE_CONTEXTS[context_of(ctx)] and ctx.can(policy, target)


def hidden_rules(conn: Connection, ctx: RequestContext, share_id: str) -> set[str]:
    """Return the ids of the share's access rules whose ``access_to`` the caller may not see."""
    asked: dict[tuple[str | None, str], bool] = {}

    def sees(row: Row[Any]) -> bool:
        key = row.user_id, row.project_id
        if key not in asked:
            asked[key] = ctx.can(
                'resource_lock:bypass_locked_show_action',
                {'user_id': row.user_id, 'project_id': row.project_id},
            )
        return asked[key]

    return {
        access_id
        for access_id, locks in resource_locks.locks_of_rules(conn, share_id, resource_locks.SHOW).items()
        if not all(map(sees, locks))
    }


# Making and changing locks ----------------------------------------------------------------------


def create(ctx: RequestContext, wanted: dict[str, Any]) -> Row[Any]:
    """Lock a share or an access rule. Return the lock's row.

    ``wanted``: resource_id, resource_type, and any of resource_action (default delete), lock_reason.

    :raises errors.Invalid: there is no such resource, or the action does not apply to it.
    :raises errors.Conflict: the resource is being removed, or its visibility is locked already.
    """
    resource_type, action = wanted['resource_type'], wanted.get('resource_action') or resource_locks.DELETE
    with ctx.db.writer() as conn:
        try:
            share_id, access_id = _resource(conn, ctx, resource_type, wanted['resource_id'])
            lock_id = insert_lock(conn, ctx, share_id, access_id, action, wanted.get('lock_reason'))
        except errors.NotFound:  # never seen, or deleted while we waited for its rows
            raise errors.Invalid(
                f'resource_id: there is no {resource_type.replace("_", " ")} {wanted["resource_id"]}.',
                code='resource_not_found',
            ) from None
        return resource_locks.get(conn, lock_id, project_id=None)


def _resource(
    conn: Connection, ctx: RequestContext, resource_type: str, resource_id: str
) -> tuple[str, str | None]:
    if resource_type == resource_locks.SHARE:
        return shares.get(conn, lookup_context(ctx), resource_id, own=True).id, None
    rule = access.get(conn, lookup_context(ctx), resource_id)
    return rule.share_id, rule.id


def insert_lock(
    conn: Connection,
    ctx: RequestContext,
    share_id: str,
    access_id: str | None,
    action: str,
    reason: str | None,
    because_of: str | None = None,
) -> str:
    """Insert a lock of the caller on a share, or on its access rule ``access_id``. Return the lock's id.

    :raises errors.Conflict: as ``create``.
    :raises errors.OverLimit: the resource has as many locks as it may have.
    """
    access.lock(conn, share_id)
    _check(conn, ctx, share_id, access_id, action)
    if because_of is None:  # a lock that was added for another lock is deleted with it, so it does not count
        limits.check_one_more(
            ctx.conf,
            'resource_locks',
            f'access rule {access_id}' if access_id else f'share {share_id}',
            resource_locks.count_on(conn, share_id, access_id),
        )
    return resource_locks.insert(
        conn,
        share_id=share_id,
        access_id=access_id,
        resource_action=action,
        lock_reason=reason,
        because_of=because_of,
        user_id=ctx.user_id,
        project_id=ctx.project_id or '',
        lock_context=context_of(ctx),
    )


def _check(conn: Connection, ctx: RequestContext, share_id: str, access_id: str | None, action: str) -> None:
    """Refuse a lock that the resource cannot have. The caller holds the resource until the transaction ends."""
    if access_id is None and action != resource_locks.DELETE:
        raise errors.Invalid(
            'resource_action: a share is locked against "delete" only; an access rule also against "show".'
        )
    share = shares.get(conn, ctx.elevated(), share_id)
    if share.status in _GOING_SHARE or share.is_soft_deleted or share.deletion_deferred:
        status = 'in the recycle bin' if share.is_soft_deleted else share.status
        raise errors.Conflict(
            f'Share {share_id} is {status}: it is too late to lock it, or its access rules.',
            code='too_late_to_lock',
        )
    if access_id is None:
        return
    if action == resource_locks.SHOW and resource_locks.locks_of_rule(conn, access_id, action):
        raise errors.Conflict(
            f'The visibility of access rule {access_id} is locked already.', code='visibility_locked'
        )
    if (
        action == resource_locks.DELETE
        and (state := access.get(conn, ctx.elevated(), access_id).state) in _GOING_RULE
    ):
        raise errors.Conflict(
            f'Access rule {access_id} is {state}: it is too late to lock it.', code='too_late_to_lock'
        )


def lock_rule(conn: Connection, ctx: RequestContext, rule: Row[Any], wanted: dict[str, Any]) -> None:
    """Lock a new access rule as its creator asked: ``lock_deletion``, ``lock_visibility``, ``lock_reason``.

    A rule locked against deletion locks its share against deletion, too.

    :raises errors.Invalid: a reason without a lock, or the caller may not place locks; then no rule is created either.
    """
    deletion, visibility, reason = (
        wanted.get(key) for key in ('lock_deletion', 'lock_visibility', 'lock_reason')
    )
    if not (deletion or visibility):
        if reason:
            raise errors.Invalid('lock_reason: only together with lock_visibility or lock_deletion.')
        return
    if not ctx.can('resource_lock:create'):
        raise errors.Invalid(
            'Failed to lock the access rule: you may not place resource locks. Leave lock_visibility and '
            'lock_deletion out, or ask an administrator.',
            code='lock_failed',
        )
    if deletion:
        lock = insert_lock(conn, ctx, rule.share_id, rule.id, resource_locks.DELETE, reason)
        insert_lock(
            conn,
            ctx,
            rule.share_id,
            None,
            resource_locks.DELETE,
            f'Locked by access lock: {lock}',
            because_of=lock,
        )
    if visibility:
        insert_lock(conn, ctx, rule.share_id, rule.id, resource_locks.SHOW, reason)


def update(ctx: RequestContext, lock_id: str, values: dict[str, Any]) -> Row[Any]:
    """Change a lock's action or reason (resource_action, lock_reason). Return its row.

    :raises errors.NotFound: the caller sees no such lock.
    :raises errors.Forbidden: the caller may not change the lock.
    :raises errors.Conflict: as ``create``.
    """
    with ctx.db.writer() as conn:
        lock = _get_changeable(conn, ctx, lock_id, 'resource_lock:update')
        action = values.get('resource_action') or lock.resource_action
        if action != lock.resource_action:
            access.lock(conn, lock.share_id)
            _check(conn, ctx, lock.share_id, lock.access_id, action)
            resource_locks.delete_following(conn, lock_id)
        resource_locks.update(conn, lock_id, **{**values, 'resource_action': action})
        return resource_locks.get(conn, lock_id, project_id=None)


def delete(ctx: RequestContext, lock_id: str) -> None:
    """Delete a lock. If it is a rule's lock, also delete the share's lock that was added for it.

    :raises errors.NotFound: the caller sees no such lock.
    :raises errors.Forbidden: the caller may not delete the lock.
    """
    with ctx.db.writer() as conn:
        _get_changeable(conn, ctx, lock_id, 'resource_lock:delete')
        resource_locks.delete(conn, [lock_id])


def _get_changeable(conn: Connection, ctx: RequestContext, lock_id: str, policy: str) -> Row[Any]:
    lock = resource_locks.get(conn, lock_id, project_id=visible_project(ctx))
    if not _may_change(ctx, lock, policy):
        raise errors.Forbidden(
            f'Resource lock {lock_id} was placed by {lock.lock_context} {lock.user_id}. Ask the owner of '
            'the lock, or an administrator.',
            code='lock_of_another',
        )
    return lock
