# SPDX-License-Identifier: Apache-2.0
"""Handlers for subnets of share networks."""

from typing import Any

from manila_lite.actions import share_network_subnets as actions
from manila_lite.api import versions
from manila_lite.api.request import Request
from manila_lite.api.v2.share_networks import load_metadata
from manila_lite.db.queries import share_network_subnets, share_networks


def push_argument(req: Request) -> dict[str, bool]:
    """Return whether changed metadata is sent to drivers: from version 2.89 on."""
    return {'push': req.version >= versions.SUBNET_METADATA_FOR_DRIVERS}


def index(req: Request) -> list[Any]:
    """List the subnets of a share network."""
    network_id = req.params['share_network_id']
    with req.ctx.db.reader() as conn:
        share_networks.get(conn, req.ctx, network_id)
        rows = share_network_subnets.of_network(conn, network_id)
        load_metadata(conn, req, rows)
    return rows


def show(req: Request) -> Any:
    """Show one subnet of a share network."""
    network_id = req.params['share_network_id']
    with req.ctx.db.reader() as conn:
        share_networks.get(conn, req.ctx, network_id)
        row = share_network_subnets.get(conn, network_id, req.params['share_network_subnet_id'])
        load_metadata(conn, req, [row])
    return row


def create(req: Request) -> Any:
    """Add a subnet to a share network."""
    row, metadata = actions.create(
        req.ctx, req.params['share_network_id'], req.body, several=req.version >= versions.SEVERAL_SUBNETS
    )
    req.related['metadata'] = {row.id: metadata}
    return row


def delete(req: Request) -> None:
    """Remove a subnet from a share network."""
    actions.delete(req.ctx, req.params['share_network_id'], req.params['share_network_subnet_id'])
