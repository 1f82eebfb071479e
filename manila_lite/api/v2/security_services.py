# SPDX-License-Identifier: Apache-2.0
"""Handlers for security services."""

from typing import Any

from manila_lite import encryption
from manila_lite.actions import security_services as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.api.v2.row_calls import RowCalls
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import security_services, share_networks
from manila_lite.policies import security_services as rules

#: Clients show a status and filter by it; no other value ever existed.
STATUS = 'new'


def status(row: Any, req: Request) -> str:
    """Read the status."""
    return STATUS


def password_of(row: Any, req: Request) -> str | None:
    """Read the password. Callers who see the service may see it."""
    return encryption.decrypt(row.password)


def networks_of(row: Any, req: Request) -> list[str]:
    """Read the ids of the share networks that use the service, loaded for all rows at once."""
    network_ids: list[str] = req.related['networks'].get(row.id, [])
    return network_ids


def index(req: Request) -> list[Any]:
    """List ids, names and types of security services."""
    with req.ctx.db.reader() as conn:
        return _list(conn, req)


def detail(req: Request) -> list[Any]:
    """List security services with details."""
    with req.ctx.db.reader() as conn:
        rows = _list(conn, req)
        req.related['networks'] = security_services.networks_of(conn, [row.id for row in rows], seen=True)
    return rows


def _list(conn: Connection, req: Request) -> list[Any]:
    """Return the services. Those of a share network that is not there are a 404, as in Manila."""
    filters = dict(req.query)
    project_id = related.choose_project(req, filters, rules.LIST_ALL_PROJECTS)
    if related.finds_nothing(req) or filters.get('status') not in (None, STATUS):
        return []
    if filters.get('share_network_id') is not None:
        share_networks.get(conn, req.ctx, filters['share_network_id'])
    return security_services.list_services(conn, filters, req.page, project_id=project_id)


#: Calls that need no shaping.
ROWS = RowCalls(
    'security_services', 'security service', 'security_service_id', actions, security_services.get
)


def update(req: Request) -> Any:
    """Change a security service."""
    return actions.update(req.ctx, req.params['security_service_id'], req.body)
