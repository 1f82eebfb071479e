# SPDX-License-Identifier: Apache-2.0
"""What it means for a share to be in a group: what it takes over, and what cannot be asked of it."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import share_specs
from manila_lite.context import RequestContext
from manila_lite.db import share_group_snapshots, share_groups, types

#: What a new share gets from its group, unless the request says the same.
_FROM_GROUP = ('availability_zone', 'share_network_id')


def join(conn: Any, ctx: RequestContext, wanted: dict[str, Any], kind: types.ShareType) -> tuple[Any, dict[str, Any]]:
    """Return the group that a new share is to be in, which stays as it is until the transaction ends, or nothing; and what is
    wanted of the share with what it has from the group.

    :raises errors.Invalid: the group is not available, or the share does not fit in it.
    :raises errors.NotFound: the project has no such group.
    """
    ident = wanted.get('share_group_id')
    if not ident:
        return None, wanted
    held = share_groups.hold(conn, ident, ('available',))
    group = share_groups.get(conn, ctx, ident)      # only now: it may have been made until it was held
    if group.project_id != ctx.project_id:
        raise errors.NotFound.of('share group', ident)
    if not held:
        raise errors.Invalid(f'share_group_id: share group {ident} is {group.status}, not available.')
    if not is_placed(group):
        raise errors.Invalid(f'share_group_id: share group {ident} has no place: it was never made.')
    _must_fit(conn, group, wanted, kind)
    for key in _FROM_GROUP:
        own, given = getattr(group, key), wanted.get(key)
        if given and given != own:
            raise errors.Invalid(f'{key}: that of share group {ident} is {own}, and its shares have the same.')
    return group, {**wanted, **{key: getattr(group, key) for key in _FROM_GROUP}}


def _must_fit(conn: Any, group: Any, wanted: dict[str, Any], kind: types.ShareType) -> None:
    if kind.id not in share_groups.share_types_of(conn, (group.id,)).get(group.id, ()):
        raise errors.Invalid(f'share_type: share group {group.id} takes no shares of type {kind.name}.')
    if share_specs.abilities(kind)['replication_type']:
        raise errors.Invalid(f'share_type: shares of type {kind.name} have replicas, and cannot be in a group.')
    if (wanted.get('scheduler_hints') or {}).get('only_host'):
        raise errors.Invalid('scheduler_hints.only_host: shares of a group go where the group is.')


def is_placed(group: Any) -> bool:
    """Say whether it is settled where the group's shares go: not if it became available only by an administrator's hand."""
    return bool(group.host and (group.share_server_id or not group.share_network_id))


def must_be_still(conn: Any, share: Any) -> None:
    """No snapshot of the share's group is being taken or taken away. To be asked once the share's row was changed or held:
    then none begins any more.

    :raises errors.WrongState: one is.
    """
    if share.share_group_id and (ident := share_groups.snapshot_under_way(conn, share.share_group_id)):
        raise errors.WrongState(f'Share group snapshot {ident}, of the group that share {share.id} is in, is being taken or '
                                'deleted; wait for it.')


def must_be_in_no_snapshot(conn: Any, share: Any) -> None:
    """No group snapshot holds anything of the share.

    :raises errors.Forbidden: one does.
    """
    if count := share_group_snapshots.count_members(conn, share.id):
        raise errors.Forbidden(f'Share {share.id} is in {count} share group snapshots; delete them first.',
                               code='share_in_group_snapshot')


def must_name(share: Any, group_id: str | None) -> None:
    """Who deletes a share of a group says so.

    :raises errors.Invalid: the group is not named, or another is.
    """
    if group_id != share.share_group_id:
        raise errors.Invalid(
            f'share_group_id: share {share.id} is in share group {share.share_group_id}; give its id with the request.'
            if share.share_group_id else f'share_group_id: share {share.id} is not in share group {group_id}.')


def must_have_no_shares(conn: Any, ident: str) -> None:
    """A group (its row changed or held by now) has neither shares nor snapshots.

    :raises errors.Conflict: it has.
    """
    if count := len(share_groups.shares_of(conn, ident)):
        raise errors.Conflict(f'Share group {ident} has {count} shares; delete them first.', code='share_group_has_shares')
    if count := share_groups.count_snapshots(conn, ident):
        raise errors.Conflict(f'Share group {ident} has {count} snapshots; delete them first.',
                              code='share_group_has_snapshots')
