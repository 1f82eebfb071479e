# SPDX-License-Identifier: Apache-2.0
"""What an administrator may ask of share servers."""

from manila_lite import states
from manila_lite.context import RequestContext
from manila_lite.db import operations as rows
from manila_lite.db import share_servers, transitions
from manila_lite.operations.removal import remove_server


def delete(ctx: RequestContext, ident: str) -> None:
    """The server stands in ``deleting`` and will go.

    :raises errors.WrongState: its status is none to delete from.
    :raises errors.Conflict: it has shares.
    """
    with ctx.db.writer() as conn:
        wake = remove_server(conn, ctx, share_servers.get(conn, ident))
    wake.send(ctx)


def reset_status(ctx: RequestContext, ident: str, status: str) -> None:
    """The server shows ``status``; work that was open on it ends."""
    with ctx.db.writer() as conn:
        share_servers.get(conn, ident)
        rows.drop_of(conn, ident, ('share_server.create', 'share_server.delete', 'share_server.add_subnet'))
        transitions.reset(conn, states.SHARE_SERVER, ident, status)
