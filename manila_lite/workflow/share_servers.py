# SPDX-License-Identifier: Apache-2.0
"""Beginning of the deletion of a share server: by an administrator, with its network, or when it is unused."""

from typing import Any

from manila_lite import context, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_networks, share_server_migration, unused_share_servers
from manila_lite.engine.begin import Wake, begin
from manila_lite.operation_data import OperationData


def remove_server(conn: Connection, ctx: context.RequestContext, server: Any) -> Wake:
    """Set the server (its row) to ``deleting`` and begin its deletion, with what a migration left on it. Return the
    wake-up to send after the commit.

    :raises errors.Conflict: it has shares, or is the target of a migration that has not ended.
    :raises errors.WrongState: it cannot be deleted in its status.
    """
    # After this lock no share is placed on this server any more.
    share_networks.lock(conn, server.share_network_id, states.SHARE_NETWORK.statuses)
    if share_server_migration.is_half_moved(conn, server.id):
        raise errors.Conflict(
            f'Share server {server.id} is the target of a migration that has not ended.',
            code='share_server_in_use',
        )
    # The status comes first: callers of Manila get another code for it.
    transitions.begin(conn, states.SHARE_SERVER, 'delete', server.id)
    if unused_share_servers.is_used(conn, server.id):
        raise errors.Conflict(f'Share server {server.id} has shares.', code='share_server_in_use')
    kind: str = 'share_server.delete'
    data: OperationData | dict[str, Any] = OperationData()
    if left := share_server_migration.last_release(conn, server.id):
        kind, data = left.kind, left.data
    return begin(
        conn,
        ctx,
        kind,
        'share_server',
        server.id,
        topic='share',
        host=server.host,
        data=data,
        mutex_key=f'server:{server.id}',
        unique_key=f'server:{server.id}',
    )
