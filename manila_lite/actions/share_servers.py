# SPDX-License-Identifier: Apache-2.0
"""What an administrator may ask of share servers."""

from typing import Any

from manila_lite import errors, operations, states
from manila_lite.context import RequestContext
from manila_lite.db import operations as rows
from manila_lite.db import serving, share_networks, share_servers, transitions


def delete(ctx: RequestContext, ident: str) -> None:
    """The server stands in ``deleting`` and will go.

    :raises errors.WrongState: its status is none to delete from.
    :raises errors.Conflict: it has shares.
    """
    with ctx.db.writer() as conn:
        row = share_servers.get(conn, ident)
        # Behind the hold no share gets this server any more.
        share_networks.hold(conn, row.share_network_id, states.SHARE_NETWORK.statuses)
        if serving.used(conn, ident):
            raise errors.Conflict(f'Share server {ident} has shares.', code='share_server_in_use')
        wake = begin_delete(conn, ctx, row)
    wake.send(ctx)


def begin_delete(conn: Any, ctx: RequestContext, server: Any) -> operations.Wake:
    """The server (its row), which nobody uses, stands in ``deleting`` and will go.

    :raises errors.WrongState: its status is none to delete from.
    """
    transitions.begin(conn, states.SHARE_SERVER, 'delete', server.id)
    return operations.begin(conn, ctx, 'share_server.delete', 'share_server', server.id, topic='share', host=server.host,
                            serial=f'server:{server.id}', open_key=f'server:{server.id}')


def reset_status(ctx: RequestContext, ident: str, status: str) -> None:
    """The server shows ``status``; work that was open on it ends."""
    with ctx.db.writer() as conn:
        share_servers.get(conn, ident)
        rows.drop_of(conn, ident, ('share_server.create', 'share_server.delete', 'share_server.add_subnet'))
        transitions.reset(conn, states.SHARE_SERVER, ident, status)
