# SPDX-License-Identifier: Apache-2.0
"""Objections to the deletion of a share network or subnet: all in one answer, each with its remedy.

Some share servers stay with their network until an administrator decides about them, who may not know that they are there.
"""

from collections.abc import Iterable
from typing import Any

from manila_lite import errors, states
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import operations, share_server_migration, unused_share_servers
from manila_lite.workflow.share_servers import remove_server

_DELETE = states.SHARE_SERVER['delete']
#: A code of the API, and the rest of a sentence that begins with the network or subnet.
Objection = tuple[str, str]
#: The operation that failed, and the remedy, by the status in which it leaves a share server.
_FAILED = {
    'manage_error': (
        'share_server.manage',
        (
            'It could not be managed{}. An administrator removes its record with openstack share server abandon {}'
        ),
    ),
    'unmanage_error': (
        'share_server.unmanage',
        (
            'It could not be unmanaged{}. An administrator tries again with openstack share server abandon --force {}'
        ),
    ),
}
_RESTS = (
    'A share server stays if it was managed, or a share was unmanaged on it. An administrator deletes it with openstack '
    'share server delete {}'
)
#: Servers that a refusal names.
_NAMED = 10


def must_be_free(owner: str, found: Iterable[Objection]) -> None:
    """Refuse the deletion of ``owner`` (``Share network ID``) if there are objections; the first gives the code.

    :raises errors.Conflict: there are.
    """
    objections = list(found)
    if objections:
        again = f'The {owner.rpartition(" ")[0].lower()}'
        first, *more = objections
        raise errors.Conflict(
            ' '.join([f'{owner} {first[1]}', *(f'{again} {text}' for _, text in more)]), code=first[0]
        )


def objections_of(
    conn: Connection, ctx: RequestContext, servers: Iterable[Row[Any]], code: str, *, shares: bool = True
) -> list[Objection]:
    """Return the objections of share servers to the deletion of their network or subnet. ``shares``: of their shares, too."""
    texts = [text for server in _remaining(servers) if (text := _objection(conn, ctx, server, shares))]
    more = len(texts) - _NAMED
    return [(code, text) for text in texts[:_NAMED]] + (
        [(code, f'has {errors.count(more, "more share server")} that cannot be deleted with it.')]
        if more > 0
        else []
    )


def remove_unused(conn: Connection, ctx: RequestContext, servers: Iterable[Row[Any]]) -> None:
    """Begin to delete share servers to which nothing objects."""
    for server in _remaining(servers):
        remove_server(conn, ctx, server)


def _remaining(servers: Iterable[Row[Any]]) -> list[Row[Any]]:
    """Return the servers that are not being deleted."""
    return [server for server in servers if server.status != _DELETE.during]


def _objection(conn: Connection, ctx: RequestContext, server: Row[Any], shares: bool) -> str:
    """Return the objection to the deletion of a share server with its network, or ''."""
    stays = not server.is_auto_deletable or server.status not in _DELETE.allowed
    reasons = {
        f'is {server.status} and is not deleted automatically': stays,
        'has shares': shares and unused_share_servers.is_used(conn, server.id),
        'is the target of a migration that has not ended': share_server_migration.is_half_moved(
            conn, server.id
        ),
    }
    true = [reason for reason, applies in reasons.items() if applies]
    if not true:
        return ''
    advice = f' {_advice(conn, ctx, server)}' if stays else ''
    return f'has share server {server.id}, which {", and which ".join(true)}.{advice}'


def _advice(conn: Connection, ctx: RequestContext, server: Row[Any]) -> str:
    """Return the reason for which the server stays, if the caller may know it, and the remedy."""
    if server.status in states.SHARE_SERVER.transient:
        return 'Wait until that has ended.'
    if server.status not in _FAILED:
        return f'{_RESTS.format(server.id)}.'
    kind, what = _FAILED[server.status]
    last = operations.list_of_resource(conn, server.id, kind)[-1:] if ctx.is_admin else []
    whys = [operations.get_reason(op) or op.error for op in last]
    return what.format(''.join(f': {why.rstrip(".")}' for why in whys if why), server.id) + '.'
