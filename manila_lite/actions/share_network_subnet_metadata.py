# SPDX-License-Identifier: Apache-2.0
"""Actions on the metadata of subnets. Drivers act on some keys: ``driver_updatable_subnet_metadata``."""

from collections.abc import Iterable
from typing import Any

from manila_lite import engine
from manila_lite.actions.metadata import Metadata
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import share_network_subnet_metadata
from manila_lite.db.queries import share_network_subnets, share_networks, share_server_queries
from manila_lite.operation_data.share_servers import PushMetadata


def _get_own(conn: Connection, ctx: RequestContext, network_id: str, subnet_id: str) -> Row[Any]:
    share_networks.get(conn, ctx, network_id)
    return share_network_subnets.get(conn, network_id, subnet_id)


def _push(
    conn: Connection, ctx: RequestContext, subnet_id: str, changed: Iterable[str], *, push: bool
) -> None:
    """Begin an operation for each running server in the subnet that sends the metadata to it, if drivers act on a changed key.

    A server with such an open operation gets no second one. ``push``: the version of the API sends metadata to drivers.
    """
    if not push or not set(changed) & set(ctx.conf.driver_updatable_subnet_metadata):
        return
    for server in share_server_queries.list_in_subnets(conn, (subnet_id,)):
        if server.status in share_server_queries.RUNNING:
            engine.begin_once(
                conn,
                ctx,
                'share_server.push_metadata',
                'share_server',
                server.id,
                topic='share',
                host=server.host,
                mutex_key=f'server:{server.id}',
                unique_key=f'metadata:{server.id}:{subnet_id}',
                data=PushMetadata(subnet_id=subnet_id),
                owner=server.project_id,
            )


METADATA = Metadata(share_network_subnet_metadata, _get_own, _get_own, tell=_push)
