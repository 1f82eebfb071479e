# SPDX-License-Identifier: Apache-2.0
"""Handlers for share instances, for administrators."""

from collections.abc import Sequence
from typing import Any

from manila_lite.actions import share_replicas as replicas
from manila_lite.actions import shares as actions
from manila_lite.api.request import Request
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import share_instances, shares

#: From 2.9 on, export locations are resources of their own.
_INLINE_EXPORTS_UNTIL = 8


def exports_of(row: Any, req: Request) -> list[str]:
    """Read an instance's export paths, as versions below 2.9 show them."""
    return [export.path for export in req.related.get('exports', {}).get(row.id, ())]


def first_export(row: Any, req: Request) -> str | None:
    """Read the preferred export path."""
    return next(iter(exports_of(row, req)), None)


def index(req: Request) -> list[Any]:
    """List the instances of all shares."""
    return _list(req, req.query)


def index_of_share(req: Request) -> list[Any]:
    """List the instances of a share."""
    with req.ctx.db.reader() as conn:
        share = shares.get(conn, req.ctx, req.params['share_id'], own=True)
    return _list(req, {'share_id': share.id})


def _list(req: Request, filters: dict[str, Any]) -> list[Any]:
    with req.ctx.db.reader() as conn:
        rows = share_instances.list_instances(conn, req.ctx, filters, req.page)
        _load_exports(conn, req, rows)
    return rows


def _load_exports(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    if req.version <= _INLINE_EXPORTS_UNTIL:
        req.related['exports'] = shares.export_locations_of(conn, [row.id for row in rows])


def show(req: Request) -> Any:
    """Show one share instance."""
    with req.ctx.db.reader() as conn:
        row = _get(conn, req)
        _load_exports(conn, req, [row])
    return row


def reset_status(req: Request) -> None:
    """Set the status of a share instance."""
    share_id = _share_of(req)
    if replicas.is_replica(req.ctx, req.params['share_instance_id']):
        replicas.reset_status(req.ctx, req.params['share_instance_id'], req.body['status'])
    elif not actions.reset_second_instance(req.ctx, req.params['share_instance_id'], req.body['status']):
        actions.reset_status(req.ctx, share_id, req.body['status'])


def force_delete(req: Request) -> None:
    """Delete a share instance in any status. The share goes with it, unless it is a replica or was left by a migration."""
    share_id = _share_of(req)
    if replicas.is_replica(req.ctx, req.params['share_instance_id']):
        replicas.delete(req.ctx, req.params['share_instance_id'], force=True)
    elif not actions.delete_second_instance(req.ctx, req.params['share_instance_id']):
        actions.delete(req.ctx, share_id, force=True)


def _share_of(req: Request) -> str:
    with req.ctx.db.reader() as conn:
        return str(_get(conn, req).share_id)


def _get(conn: Connection, req: Request) -> Any:
    return share_instances.get(conn, req.ctx, req.params['share_instance_id'])
