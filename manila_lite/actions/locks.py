# SPDX-License-Identifier: Apache-2.0
"""What a user may ask of resource locks, and what locks refuse."""

from collections.abc import Iterable
from typing import Any

from manila_lite import errors, states
from manila_lite.context import RequestContext
from manila_lite.db import access, limits, locks, shares
from manila_lite.policies import resource_locks as policies

USER, SERVICE, ADMIN = 'user', 'service', 'admin'
#: Whose locks somebody may touch, by what they ask as.
_TOUCHES = {USER: {USER}, SERVICE: {USER, SERVICE}, ADMIN: {USER, SERVICE, ADMIN}}

#: Statuses from which a share or a rule only goes away: a lock would come too late.
_GOING_SHARE = frozenset({'deleting', 'error_deleting', 'unmanaging', 'unmanage_starting', 'unmanage_error',
                          'manage_error_unmanaging', 'unmanaged', 'deleted', 'deferred_deleting', 'error_deferred_deleting'})
_GOING_RULE = frozenset({states.ACCESS['revoke'].during, states.ACCESS['deny'].during})


def context_of(ctx: RequestContext) -> str:
    """Return as what the caller asks: ``service``, ``admin`` or ``user``."""
    return SERVICE if ctx.can('service_role') else ADMIN if ctx.is_admin else USER


def anywhere(ctx: RequestContext) -> RequestContext:
    """Return the context to look with: other services of the cloud find what belongs to any project, as Nova has to."""
    return ctx.elevated() if not ctx.is_admin and ctx.can('service_role') else ctx


def scope(ctx: RequestContext) -> str | None:
    """Return the project whose locks the caller may see, or nothing for all."""
    return None if ctx.can(policies.GET_ALL_PROJECTS) else ctx.project_id or ''


# What locks refuse ------------------------------------------------------------------------------

def refuse_if_locked(conn: Any, ctx: RequestContext, share_id: str, doing: str = 'be deleted') -> None:
    """Nobody locked the share against deletion, nor, unless the caller may lift that lock, one of its rules, which would go
    with it. To be called after the share's status was changed, or its rows were locked otherwise, so that no lock can come in
    between. ``doing``: what it cannot do, for the message.

    :raises errors.Forbidden: somebody did; the message names the locks, and what to do next.
    """
    found = locks.on_share(conn, share_id)
    if found:
        raise errors.Forbidden(
            f'Share {share_id} cannot {doing} while it is locked: {_named(found)}. Delete these resource locks first; one that '
            'was placed for the sake of an access rule goes when that is denied.', code='share_locked')
    for ident, on_rule in locks.on_rules(conn, share_id, locks.DELETE).items():
        if strange := _strange(ctx, on_rule):
            raise errors.Forbidden(
                f'Share {share_id} cannot {doing} while its access rule {ident} is locked by {_named(strange)}, which is not '
                'yours to lift. Ask who placed it, or an administrator.', code='share_locked')


def refuse_overwriting(conn: Any, ctx: RequestContext, share_id: str) -> None:
    """Nobody relies on what the share holds: who mounts it for somebody else, as Nova does, locks it. To be called as
    ``refuse_if_locked``.

    :raises errors.Conflict: somebody does.
    """
    try:
        refuse_if_locked(conn, ctx, share_id, 'be overwritten')
    except errors.Forbidden as locked:
        raise errors.Conflict(str(locked), code='share_locked') from None


def give_up(conn: Any, ctx: RequestContext, share_id: str, transfer_id: str) -> None:
    """All locks on the share and its rules are the caller's to lift, and will go when the share goes to another project. To be
    called as ``refuse_if_locked``.

    :raises errors.Forbidden: one is not.
    """
    if strange := _strange(ctx, locks.all_of(conn, share_id)):
        raise errors.Forbidden(
            f'Share {share_id} cannot be transferred: it, or an access rule of it, is locked by {_named(strange)}, which is '
            'not yours to lift. Ask who placed it, or an administrator.', code='share_locked')
    locks.mark(conn, share_id, transfer_id)


def must_be_given_up(conn: Any, share_id: str, transfer_id: str) -> None:
    """No lock was placed on the share or its rules since it was offered. To be called as ``refuse_if_locked``.

    :raises errors.Forbidden: one was.
    """
    if left := [row for row in locks.all_of(conn, share_id) if row.transfer_id != transfer_id]:
        raise errors.Forbidden(f'Share {share_id} was locked after it had been offered: {_named(left)}. It can be taken over '
                               'when these resource locks are gone.', code='share_locked')


def _named(found: Iterable[Any]) -> str:
    return ', '.join(f'{row.id} (by {row.lock_context})' for row in found)


def check_deny(conn: Any, ctx: RequestContext, rule: Any, *, unrestrict: bool) -> None:
    """An access rule may be denied: nobody locked it against that, or the caller wants and may lift all such locks, which
    go with the rule.

    :raises errors.Forbidden: it is locked.
    """
    found = locks.on_rule(conn, rule.id, locks.DELETE)
    if found and not unrestrict:
        raise errors.Forbidden(f'Access rule {rule.id} cannot be denied: it is locked by {_named(found)}. Deny it with '
                               'unrestrict (version 2.82), or delete its locks first.', code='access_rule_locked')
    _must_lift(ctx, rule.id, found, 'be denied')


def check_change(conn: Any, ctx: RequestContext, rule: Any) -> None:
    """What an access rule grants may be changed: nobody locked it against deletion, which a change could come to, or the
    caller may lift all such locks. They stay.

    :raises errors.Forbidden: it is locked.
    """
    _must_lift(ctx, rule.id, locks.on_rule(conn, rule.id, locks.DELETE), 'be changed')


def check_deny_all(conn: Any, ctx: RequestContext, share_id: str) -> None:
    """All access rules of a share may be denied, as with ``unrestrict``.

    :raises errors.Forbidden: one is locked, and the caller may not lift the lock.
    """
    for ident, found in locks.on_rules(conn, share_id, locks.DELETE).items():
        _must_lift(ctx, ident, found, 'be denied')


def _must_lift(ctx: RequestContext, access_id: str, found: list[Any], doing: str) -> None:
    if strange := _strange(ctx, found):
        raise errors.Forbidden(f'Access rule {access_id} cannot {doing}: its lock {_named(strange)} is not yours to lift. '
                               'Ask who placed it, or an administrator.', code='access_rule_locked')


def _strange(ctx: RequestContext, found: list[Any]) -> list[Any]:
    """Return the locks that the caller may not lift."""
    return [row for row in found if not _may_touch(ctx, row, policies.DELETE)]


def _may_touch(ctx: RequestContext, lock: Any, policy: str) -> bool:
    target = {'project_id': lock.project_id, 'user_id': lock.user_id}
    return lock.lock_context in _TOUCHES[context_of(ctx)] and ctx.can(policy, target)


def hidden(conn: Any, ctx: RequestContext, share_id: str) -> set[str]:
    """Return the ids of those rules of a share that the caller may not know the targets of."""
    asked: dict[tuple[str | None, str], bool] = {}

    def sees(row: Any) -> bool:
        key = row.user_id, row.project_id
        if key not in asked:
            asked[key] = ctx.can(policies.BYPASS_LOCKED_SHOW, {'user_id': row.user_id, 'project_id': row.project_id})
        return asked[key]

    return {ident for ident, found in locks.on_rules(conn, share_id, locks.SHOW).items() if not all(map(sees, found))}


# Making and changing locks ----------------------------------------------------------------------

def create(ctx: RequestContext, wanted: dict[str, Any]) -> Any:
    """The share or access rule is locked. Returns the lock's row.

    ``wanted``: resource_id, resource_type, and any of resource_action (default delete), lock_reason.

    :raises errors.Invalid: there is no such resource, or the action is none of its.
    :raises errors.Conflict: it is going away, or its visibility is locked already.
    """
    kind, action = wanted['resource_type'], wanted.get('resource_action') or locks.DELETE
    with ctx.db.writer() as conn:
        share_id, access_id = _resource(conn, ctx, kind, wanted['resource_id'])
        ident = place(conn, ctx, share_id, access_id, action, wanted.get('lock_reason'))
        return locks.get(conn, ident, project_id=None)


def _resource(conn: Any, ctx: RequestContext, kind: str, ident: str) -> tuple[str, str | None]:
    try:
        if kind == locks.SHARE:
            return shares.get(conn, anywhere(ctx), ident, own=True).id, None
        rule = access.get(conn, anywhere(ctx), ident)
        return rule.share_id, rule.id
    except errors.NotFound:
        raise errors.Invalid(f'resource_id: there is no {kind.replace("_", " ")} {ident}.', code='resource_not_found') from None


def place(conn: Any, ctx: RequestContext, share_id: str, access_id: str | None, action: str, reason: str | None,
          because_of: str | None = None) -> str:
    """A lock of the caller is on a share, or on the access rule ``access_id`` of it. Returns the lock's id.

    :raises errors.Conflict: as ``create``.
    :raises errors.OverLimit: there are as many as there may be.
    """
    access.lock(conn, share_id)
    _check(conn, ctx, share_id, access_id, action)
    if because_of is None:      # one that is there for another's sake goes with it
        limits.one_more(ctx.conf, 'resource_locks', f'access rule {access_id}' if access_id else f'share {share_id}',
                        locks.count_on(conn, share_id, access_id))
    return locks.insert(conn, share_id=share_id, access_id=access_id, resource_action=action, lock_reason=reason,
                        because_of=because_of, user_id=ctx.user_id, project_id=ctx.project_id or '',
                        lock_context=context_of(ctx))


def _check(conn: Any, ctx: RequestContext, share_id: str, access_id: str | None, action: str) -> None:
    """The resource, held until the transaction ends, can have a lock of this action."""
    if access_id is None and action != locks.DELETE:
        raise errors.Invalid('resource_action: a share is locked against "delete" only; an access rule also against "show".')
    share = shares.get(conn, ctx.elevated(), share_id)
    if share.status in _GOING_SHARE or share.is_soft_deleted or share.is_going:
        status = 'in the recycle bin' if share.is_soft_deleted else share.status
        raise errors.Conflict(f'Share {share_id} is {status}: it is too late to lock it, or its access rules.',
                              code='too_late_to_lock')
    if access_id is None:
        return
    if action == locks.SHOW and locks.on_rule(conn, access_id, action):
        raise errors.Conflict(f'The visibility of access rule {access_id} is locked already.', code='visibility_locked')
    if action == locks.DELETE and (state := access.get(conn, ctx.elevated(), access_id).state) in _GOING_RULE:
        raise errors.Conflict(f'Access rule {access_id} is {state}: it is too late to lock it.', code='too_late_to_lock')


def lock_rule(conn: Any, ctx: RequestContext, rule: Any, wanted: dict[str, Any]) -> None:
    """A rule that is just being made is locked as its maker wants: ``lock_deletion``, ``lock_visibility``,
    ``lock_reason``. One that cannot be deleted keeps its share from being deleted, too.

    :raises errors.Invalid: a reason without a lock, or the caller may not lock it: then there will be no rule either.
    """
    deletion, visibility, reason = (wanted.get(key) for key in ('lock_deletion', 'lock_visibility', 'lock_reason'))
    if not (deletion or visibility):
        if reason:
            raise errors.Invalid('lock_reason: only together with lock_visibility or lock_deletion.')
        return
    if not ctx.can(policies.CREATE):
        raise errors.Invalid('Failed to lock the access rule: you may not place resource locks. Leave lock_visibility and '
                             'lock_deletion out, or ask an administrator.', code='lock_failed')
    if deletion:
        lock = place(conn, ctx, rule.share_id, rule.id, locks.DELETE, reason)
        place(conn, ctx, rule.share_id, None, locks.DELETE, f'Locked by access lock: {lock}', because_of=lock)
    if visibility:
        place(conn, ctx, rule.share_id, rule.id, locks.SHOW, reason)


def update(ctx: RequestContext, ident: str, values: dict[str, Any]) -> Any:
    """The lock has these values: resource_action, lock_reason. Returns its row.

    :raises errors.NotFound: the caller sees no such lock.
    :raises errors.Forbidden: it is not theirs to change.
    :raises errors.Conflict: as ``create``.
    """
    with ctx.db.writer() as conn:
        lock = _touched(conn, ctx, ident, policies.UPDATE)
        action = values.get('resource_action') or lock.resource_action
        if action != lock.resource_action:
            access.lock(conn, lock.share_id)
            _check(conn, ctx, lock.share_id, lock.access_id, action)
            locks.delete_following(conn, ident)
        locks.update(conn, ident, **{**values, 'resource_action': action})
        return locks.get(conn, ident, project_id=None)


def delete(ctx: RequestContext, ident: str) -> None:
    """The lock is gone, and if it was a rule's, the lock that its share had for its sake.

    :raises errors.NotFound: the caller sees no such lock.
    :raises errors.Forbidden: it is not theirs to take away.
    """
    with ctx.db.writer() as conn:
        _touched(conn, ctx, ident, policies.DELETE)
        locks.delete(conn, [ident])


def _touched(conn: Any, ctx: RequestContext, ident: str, policy: str) -> Any:
    lock = locks.get(conn, ident, project_id=scope(ctx))
    if not _may_touch(ctx, lock, policy):
        raise errors.Forbidden(f'Resource lock {ident} was placed by {lock.lock_context} {lock.user_id}, and is not yours to '
                               'touch. Ask who placed it, or an administrator.', code='lock_of_another')
    return lock
