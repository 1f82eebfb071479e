# SPDX-License-Identifier: Apache-2.0
"""Handlers for share servers."""

from typing import Any

from manila_lite.actions import share_servers as actions
from manila_lite.api.request import Request
from manila_lite.api.v2.related import finds_nothing
from manila_lite.db.queries import share_servers


def subnets_of(row: Any, req: Request) -> list[str]:
    """Read the ids of the server's subnets, loaded for all rows at once."""
    subnet_ids: list[str] = req.related['subnets'].get(row.id, [])
    return subnet_ids


def first_subnet(row: Any, req: Request) -> str | None:
    """Read the server's first subnet, for versions below 2.70, which show only one."""
    return next(iter(subnets_of(row, req)), None)


def network_name(row: Any, req: Request) -> str:
    """Read the name of the server's network, or its id if it has no name."""
    return str(row.share_network_name or row.share_network_id)


def details_of(row: Any, req: Request) -> dict[str, str]:
    """Read the details that the backend stores for the server."""
    details: dict[str, str] = req.related['details']
    return details


def _shown(req: Request, server_id: str) -> Any:
    with req.ctx.db.reader() as conn:
        row = share_servers.get_visible(conn, req.ctx, server_id)
        req.related['subnets'] = share_servers.subnets_of(conn, [row.id])
        req.related['details'] = share_servers.details(conn, row.id)
    return row


def index(req: Request) -> list[Any]:
    """List share servers."""
    with req.ctx.db.reader() as conn:
        project_id = None if req.ctx.is_admin else req.ctx.project_id or ''
        rows = (
            [] if finds_nothing(req) else share_servers.list_servers(conn, req.query, project_id=project_id)
        )
        req.related['subnets'] = share_servers.subnets_of(conn, [row.id for row in rows])
    return rows


def show(req: Request) -> Any:
    """Show one share server."""
    return _shown(req, req.params['share_server_id'])


def details(req: Request) -> dict[str, str]:
    """Show the details that the backend stores for a share server."""
    with req.ctx.db.reader() as conn:
        row = share_servers.get_visible(conn, req.ctx, req.params['share_server_id'])
        return share_servers.details(conn, row.id)


def reset_status(req: Request) -> None:
    """Set the status of a share server."""
    actions.reset_status(req.ctx, req.params['share_server_id'], req.body['status'])


def delete(req: Request) -> None:
    """Delete a share server that has no shares."""
    actions.delete(req.ctx, req.params['share_server_id'])


def manage(req: Request) -> Any:
    """Manage an existing share server of a backend."""
    return _shown(req, actions.manage(req.ctx, req.body))


def unmanage(req: Request) -> None:
    """Unmanage a share server."""
    actions.unmanage(req.ctx, req.params['share_server_id'], force=req.body.get('force', False))
