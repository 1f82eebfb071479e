# SPDX-License-Identifier: Apache-2.0
"""Handlers for access rules of shares."""

from typing import Any

from manila_lite import encryption, errors, states
from manila_lite.actions import access as actions
from manila_lite.actions import access_targets, resource_locks
from manila_lite.api import versions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, shares

#: The text shown in place of hidden values, and the filters that would reveal them.
_UNSEEN, _TELLING = '******', ('access_to', 'access_key')


def to_of(row: Any, req: Request) -> str:
    """Read the rule's ``access_to``, or the placeholder if it is hidden from the caller."""
    return _UNSEEN if row.id in req.related['hidden'] else row.access_to


def key_of(row: Any, req: Request) -> str | None:
    """Read the rule's access key, or the placeholder if the rule is hidden from the caller."""
    return _UNSEEN if row.id in req.related['hidden'] else encryption.decrypt(row.access_key)


def state_of(row: Any, req: Request) -> str:
    """Read a rule's state. Below 2.28 every transient state is shown as ``new``."""
    if req.version < versions.STATES_OF_RULES and row.state in states.ACCESS.transient:
        return 'new'
    return str(row.state)


def allow(req: Request) -> Any:
    """Add an access rule to a share."""
    row, metadata = actions.allow(
        req.ctx,
        req.params['share_id'],
        req.body,
        ipv6=req.version >= versions.IPV6_RULES,
        despite_errors=req.version >= versions.STATES_OF_RULES,
        despite_replicas=_despite_replicas(req),
    )
    # Its creator sees the new rule even if it was created with locks.
    req.related |= {'metadata': {row.id: metadata}, 'hidden': {}}
    return row


def _despite_replicas(req: Request) -> bool:
    return req.version >= versions.RULES_BESIDE_BROKEN_REPLICAS


def deny(req: Request) -> None:
    """Remove an access rule of a share."""
    actions.deny(
        req.ctx,
        req.params['share_id'],
        req.body['access_id'],
        unrestrict=bool(req.body.get('unrestrict')),
        despite_replicas=_despite_replicas(req),
    )


def list_of_share(req: Request) -> list[Any]:
    """List a share's access rules by an action of the share."""
    return _list(req, req.params['share_id'], {})


def index(req: Request) -> list[Any]:
    """List a share's access rules."""
    filters = dict(req.query)
    share_id = filters.pop('share_id', None)
    if not share_id:
        raise errors.Invalid('share_id: missing; access rules can only be listed for one share.')
    if filters.get('access_type') == 'ip' and filters.get('access_to'):
        access_targets.parse_network(filters['access_to'])
    return _list(req, share_id, filters)


def _list(req: Request, share_id: str, filters: dict[str, Any]) -> list[Any]:
    with req.ctx.db.reader() as conn:
        shares.get(conn, resource_locks.lookup_context(req.ctx), share_id, own=True)
        rows = access.of_share(conn, share_id, filters)
        _load(conn, req, share_id, rows)
    if filters.get('access_key') is not None:
        rows = [row for row in rows if encryption.decrypt(row.access_key) == filters['access_key']]
    if any(filters.get(key) is not None for key in _TELLING):
        return [row for row in rows if row.id not in req.related['hidden']]
    return rows


def _load(conn: Connection, req: Request, share_id: str, rows: list[Any]) -> None:
    """Load the metadata of a share's rules for the view, and the ids of rules that are hidden from the caller."""
    related.load_pairs(conn, req, models.access_rule_metadata, rows)
    req.related['hidden'] = dict.fromkeys(resource_locks.hidden_rules(conn, req.ctx, share_id), True)


def show(req: Request) -> Any:
    """Show one access rule."""
    with req.ctx.db.reader() as conn:
        row = access.get(conn, resource_locks.lookup_context(req.ctx), req.params['access_id'])
        _load(conn, req, row.share_id, [row])
    return row


def update(req: Request) -> Any:
    """Change the level of an access rule."""
    row = actions.change_level(req.ctx, req.params['access_id'], req.body['access_level'])
    with req.ctx.db.reader() as conn:
        _load(conn, req, row.share_id, [row])
    return row


def set_metadata(req: Request) -> dict[str, str]:
    """Set metadata of an access rule."""
    return actions.METADATA.set_metadata(req.ctx, req.params['access_id'], req.body)


def delete_metadata(req: Request) -> None:
    """Delete one key of an access rule's metadata."""
    actions.METADATA.delete_metadata(req.ctx, req.params['access_id'], req.params['key'])
