# SPDX-License-Identifier: Apache-2.0
"""Actions on the metadata of subnets. Drivers act on some keys: ``driver_updatable_subnet_metadata``."""

from collections.abc import Iterable
from typing import Any

from manila_lite import engine
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import share_network_subnet_metadata
from manila_lite.db.queries import share_network_subnets, share_networks, share_server_queries
from manila_lite.operation_data.share_servers import PushMetadata


def metadata(ctx: RequestContext, network_id: str, subnet_id: str) -> dict[str, str]:
    """Return the subnet's metadata."""
    with ctx.db.reader() as conn:
        _get_own(conn, ctx, network_id, subnet_id)
        return key_values.of(conn, share_network_subnet_metadata, subnet_id)


def set_metadata(
    ctx: RequestContext, network_id: str, subnet_id: str, values: dict[str, str], *, replace: bool, push: bool
) -> dict[str, str]:
    """Set metadata of a subnet and return all of it. ``replace``: remove the pairs that are not given.

    ``push``: send the metadata to the backends of share servers in the subnet, if a key changed that drivers act on.

    :raises errors.OverLimit: the subnet would have too many pairs.
    """
    with ctx.db.writer() as conn:
        _get_own(conn, ctx, network_id, subnet_id)
        before = key_values.of(conn, share_network_subnet_metadata, subnet_id)
        change = key_values.replace if replace else key_values.merge
        change(conn, share_network_subnet_metadata, subnet_id, values, conf=ctx.conf)
        now = key_values.of(conn, share_network_subnet_metadata, subnet_id)
        changed = [key for key in before.keys() | now.keys() if before.get(key) != now.get(key)]
        if push:
            _push(conn, ctx, subnet_id, changed)
    return now


def delete_metadata(ctx: RequestContext, network_id: str, subnet_id: str, key: str, *, push: bool) -> None:
    """Delete one pair of a subnet's metadata. ``push``: as in ``set_metadata``.

    :raises errors.NotFound: the subnet has no such key.
    """
    with ctx.db.writer() as conn:
        _get_own(conn, ctx, network_id, subnet_id)
        key_values.remove(conn, share_network_subnet_metadata, subnet_id, key)
        if push:
            _push(conn, ctx, subnet_id, [key])


def _get_own(conn: Connection, ctx: RequestContext, network_id: str, subnet_id: str) -> Row[Any]:
    share_networks.get(conn, ctx, network_id)
    return share_network_subnets.get(conn, network_id, subnet_id)


def _push(conn: Connection, ctx: RequestContext, subnet_id: str, changed: Iterable[str]) -> None:
    """Begin an operation for each running server in the subnet that sends the metadata to it.

    A server with such an open operation gets no second one.
    """
    if not set(changed) & set(ctx.conf.driver_updatable_subnet_metadata):
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
