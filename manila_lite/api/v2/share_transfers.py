# SPDX-License-Identifier: Apache-2.0
"""Handlers for transfers of shares."""

from typing import Any

from manila_lite.actions import share_transfers as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.db.queries import share_transfers
from manila_lite.policies import share_transfers as rules

#: The only resource type that can be transferred.
RESOURCE_TYPE = 'share'


def key_of(row: Any, req: Request) -> str:
    """Read the key, which is known only in the answer to the creation."""
    return str(req.related['keys'][row.id])


def index(req: Request) -> list[Any]:
    """List ids, names and shares of transfers."""
    filters = dict(req.query)
    project_id = related.choose_project(req, filters, rules.GET_ALL_PROJECTS)
    # An accepted transfer is deleted, so none has a destination.
    if (
        filters.get('resource_type') not in (None, RESOURCE_TYPE)
        or filters.get('destination_project_id') is not None
    ):
        return []
    with req.ctx.db.reader() as conn:
        return share_transfers.list_transfers(conn, filters, req.page, project_id=project_id)


def detail(req: Request) -> list[Any]:
    """List transfers with details."""
    return index(req)


def show(req: Request) -> Any:
    """Show one transfer."""
    with req.ctx.db.reader() as conn:
        return share_transfers.get(conn, req.ctx, req.params['transfer_id'])


def create(req: Request) -> Any:
    """Offer a share for transfer to any project that knows the key of the answer."""
    row, key = actions.create(req.ctx, req.body['share_id'], req.body.get('name'))
    req.related['keys'] = {row.id: key}
    return row


def delete(req: Request) -> None:
    """Withdraw a transfer."""
    actions.delete(req.ctx, req.params['transfer_id'])


def accept(req: Request) -> None:
    """Accept a transfer of a share."""
    actions.accept(
        req.ctx,
        req.params['transfer_id'],
        req.body['auth_key'],
        clear_rules=bool(req.body.get('clear_access_rules')),
    )
