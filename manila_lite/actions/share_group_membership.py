# SPDX-License-Identifier: Apache-2.0
"""Rules for shares in a share group: the values they take from the group, and the requests they refuse."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import share_requests
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import share_group_snapshots, share_groups, share_types

#: Values that a new share takes from its group. A request may only repeat them.
_FROM_GROUP = ('availability_zone', 'share_network_id')


def join(
    conn: Connection, ctx: RequestContext, wanted: dict[str, Any], share_type: share_types.ShareType
) -> tuple[Any, dict[str, Any]]:
    """Return the group that a new share joins, or None, and ``wanted`` with the values taken from the group.

    The group's row is held until the transaction ends.

    :raises errors.Invalid: the group is not available, or the share does not fit in it.
    :raises errors.NotFound: the project has no such group.
    """
    group_id = wanted.get('share_group_id')
    if not group_id:
        return None, wanted
    held = share_groups.lock(conn, group_id, ('available',))
    group = share_groups.get(conn, ctx, group_id)  # after the hold: its creation may just have ended
    if group.project_id != ctx.project_id:
        raise errors.NotFound.of('share group', group_id)
    if not held:
        raise errors.Invalid(f'share_group_id: share group {group_id} is {group.status}, not available.')
    if not is_placed(group):
        raise errors.Invalid(f'share_group_id: share group {group_id} has no host: it was never created.')
    _must_fit(conn, group, wanted, share_type)
    for key in _FROM_GROUP:
        own, given = getattr(group, key), wanted.get(key)
        if given and given != own:
            raise errors.Invalid(
                f'{key}: must be {own or "null"}, as for all shares of share group {group_id}.'
            )
    return group, {**wanted, **{key: getattr(group, key) for key in _FROM_GROUP}}


def _must_fit(
    conn: Connection, group: Row[Any], wanted: dict[str, Any], share_type: share_types.ShareType
) -> None:
    if share_type.id not in share_groups.share_types_of(conn, (group.id,)).get(group.id, ()):
        raise errors.Invalid(
            f'share_type: share group {group.id} does not accept shares of type {share_type.name}.'
        )
    if share_requests.abilities(share_type)['replication_type']:
        raise errors.Invalid(
            f'share_type: shares of type {share_type.name} have replicas, and cannot be in a group.'
        )
    if (wanted.get('scheduler_hints') or {}).get('only_host'):
        raise errors.Invalid(
            'scheduler_hints.only_host: not supported for shares of a group, which are on the host of the '
            'group.'
        )


def is_placed(group: Row[Any]) -> bool:
    """Say whether the group has a place at a backend.

    It has none if an administrator's reset made it available before it was created.
    """
    return bool(group.host and (group.share_server_id or not group.share_network_id))


def must_have_settled_group(conn: Connection, share: Row[Any]) -> None:
    """Refuse a share whose group has a snapshot in creation or deletion.

    To be called after the share's row was changed or held: then no new group snapshot can begin.

    :raises errors.WrongState: there is such a group snapshot.
    """
    if share.share_group_id and (
        snapshot_id := share_groups.find_snapshot_in_transition(conn, share.share_group_id)
    ):
        raise errors.WrongState(
            f'Share group snapshot {snapshot_id} of the group of share {share.id} is being created or '
            'deleted; wait until that has ended.'
        )


def must_be_in_no_group_snapshot(conn: Connection, share: Row[Any]) -> None:
    """Refuse a share that is in a group snapshot.

    :raises errors.Forbidden: a group snapshot has a member of the share.
    """
    if count := share_group_snapshots.count_members(conn, share.id):
        raise errors.Forbidden(
            f'Share {share.id} is in {errors.count(count, "share group snapshot")}; delete '
            f'{errors.them(count)} first.',
            code='share_in_group_snapshot',
        )


def must_name_group(share: Row[Any], group_id: str | None) -> None:
    """Refuse the deletion of a share in a group unless the request names that group.

    :raises errors.Invalid: the group is not named, or another group is.
    """
    if group_id != share.share_group_id:
        raise errors.Invalid(
            f'share_group_id: share {share.id} is in share group {share.share_group_id}; give its id with the request.'
            if share.share_group_id
            else f'share_group_id: share {share.id} is not in share group {group_id}.'
        )


def must_be_empty(conn: Connection, group_id: str) -> None:
    """Refuse a group that has shares or snapshots. The group's row must have been changed or held before.

    :raises errors.Conflict: the group has shares or snapshots.
    """
    if count := len(share_groups.shares_of(conn, group_id)):
        raise errors.Conflict(
            f'Share group {group_id} has {errors.count(count, "share")}; delete {errors.them(count)} first.',
            code='share_group_has_shares',
        )
    if count := share_groups.count_snapshots(conn, group_id):
        raise errors.Conflict(
            f'Share group {group_id} has {errors.count(count, "snapshot")}; delete '
            f'{errors.them(count)} first.',
            code='share_group_has_snapshots',
        )
