# SPDX-License-Identifier: Apache-2.0
"""Access rules over HTTP."""

from typing import Any

from manila_lite import errors, states
from manila_lite.actions import access as actions
from manila_lite.actions import access_to
from manila_lite.api import versions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.db import access, models, shares

#: From 2.38 on, IPv6 addresses will do.
_IPV6 = 38


def metadata_of(row: Any, req: Request) -> dict[str, str]:
    """Read a rule's metadata, loaded for all rows at once."""
    return req.related['metadata'].get(row.id, {})


def state_of(row: Any, req: Request) -> str:
    """Read a rule's state; below 2.28 all that has not come to an end is ``new``."""
    if req.version < versions.STATES_OF_RULES and row.state in states.ACCESS.transient:
        return 'new'
    return row.state


def allow(req: Request) -> Any:
    """Add a rule."""
    row, metadata = actions.allow(req.ctx, req.params['share_id'], req.body, ipv6=req.version >= _IPV6,
                                  despite_errors=req.version >= versions.STATES_OF_RULES)
    req.related['metadata'] = {row.id: metadata}
    return row


def deny(req: Request) -> None:
    """Take a rule away."""
    actions.deny(req.ctx, req.params['share_id'], req.body['access_id'])


def list_of_share(req: Request) -> list[Any]:
    """List a share's rules by action."""
    return _list(req, req.params['share_id'], {})


def index(req: Request) -> list[Any]:
    """List a share's rules."""
    filters = dict(req.query)
    share_id = filters.pop('share_id', None)
    if not share_id:
        raise errors.Invalid('share_id: missing; access rules are listed share by share.')
    if filters.get('access_type') == 'ip' and filters.get('access_to'):
        access_to.address(filters['access_to'])
    return _list(req, share_id, filters)


def _list(req: Request, share_id: str, filters: dict[str, Any]) -> list[Any]:
    with req.ctx.db.reader() as conn:
        shares.get(conn, req.ctx, share_id, own=True)
        found = access.of_share(conn, share_id, filters)
        related.load_pairs(conn, req, models.access_rule_metadata, found)
    return found


def show(req: Request) -> Any:
    """Show one rule."""
    with req.ctx.db.reader() as conn:
        row = access.get(conn, req.ctx, req.params['access_id'])
        related.load_pairs(conn, req, models.access_rule_metadata, [row])
    return row


def update(req: Request) -> Any:
    """Change a rule's level."""
    row = actions.change_level(req.ctx, req.params['access_id'], req.body['access_level'])
    with req.ctx.db.reader() as conn:
        related.load_pairs(conn, req, models.access_rule_metadata, [row])
    return row


def set_metadata(req: Request) -> dict[str, str]:
    """Set some metadata."""
    return actions.set_metadata(req.ctx, req.params['access_id'], req.body)


def delete_metadata(req: Request) -> None:
    """Delete one pair."""
    actions.delete_metadata(req.ctx, req.params['access_id'], req.params['key'])
