# SPDX-License-Identifier: Apache-2.0
"""Share servers that are not in a subnet where they should be: the attempt failed, or was never made."""

from collections.abc import Collection
from typing import Any

from manila_lite import context, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_network_subnets, share_networks, share_server_queries
from manila_lite.engine.begin import Wake, begin
from manila_lite.operation_data.share_servers import AddSubnet

ADD = 'share_server.add_subnet'


def complete(conn: Connection, ctx: context.RequestContext, lack: Any) -> Wake | None:
    """Begin to put a server into a subnet that it lacks, a row of ``share_network_subnets.list_lacking``. Return its wake-up,
    or None if the server or its network is busy or has changed.
    """
    usable = states.SHARE_NETWORK['change'].allowed | states.SHARE_NETWORK.transient
    if not share_networks.lock(conn, lack.share_network_id, usable):
        return None
    known = share_network_subnets.list_lacking(conn, server_id=lack.server_id, subnet_id=lack.id)
    if not known or not transitions.begin_many(conn, states.SHARE_SERVER, 'change', [lack.server_id]):
        return None
    transitions.begin_many(conn, states.SHARE_NETWORK, 'change', [lack.share_network_id])
    [row] = known
    if not row.is_mapped:
        share_server_queries.add_to_subnet(conn, [row.server_id], row.id)
    return begin(
        conn,
        _owner(ctx, row),
        ADD,
        'share_server',
        row.server_id,
        topic='share',
        host=row.host,
        mutex_key=f'server:{row.server_id}',
        unique_key=f'server:{row.server_id}',
        data=AddSubnet(network_id=row.share_network_id, subnet_id=row.id, before=row.error or ''),
    )


def _owner(ctx: context.RequestContext, row: Any) -> context.RequestContext:
    return context.RequestContext(
        user_id=row.user_id,
        project_id=row.project_id,
        request_id=ctx.request_id,
        resource_uuid=row.server_id,
        is_admin=True,
        roles=['admin', 'member', 'reader'],
        services=ctx.services,
        overwrite=False,
    )


def complete_all(ctx: context.RequestContext, host: str, only: Collection[str] | None = None) -> None:
    """Begin to put servers of a backend (all, or ``only`` those with these ids) into every subnet that another server of their
    network is in, or should be in.

    A subnet that has an error, and no server, is left to its owner.
    """
    with ctx.db.reader() as conn:
        lacking = [
            row
            for row in share_network_subnets.list_lacking(conn, host=host)
            if (row.is_held or not row.error) and (only is None or row.server_id in only)
        ]
    for row in lacking:
        with ctx.db.writer() as conn:
            complete(conn, ctx, row)
