# SPDX-License-Identifier: Apache-2.0
"""Handlers for share replicas."""

from collections.abc import Sequence
from typing import Any

from manila_lite.actions import share_replicas as actions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.db import models
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import export_locations as places
from manila_lite.db.queries import share_replicas, shares


def state_of(row: Any, req: Request) -> str:
    """Read the state of the export location's replica."""
    return str(req.related['replica'].replica_state)


def zone_of(row: Any, req: Request) -> str | None:
    """Read the zone of the export location's replica."""
    zone: str | None = req.related['replica'].availability_zone
    return zone


def _load(conn: Connection, req: Request, rows: Sequence[Any]) -> None:
    related.load_pairs(conn, req, models.share_instance_metadata, rows)


def index(req: Request) -> list[Any]:
    """List ids, shares and states of share replicas."""
    with req.ctx.db.reader() as conn:
        return _list(conn, req)


def detail(req: Request) -> list[Any]:
    """List share replicas with details."""
    with req.ctx.db.reader() as conn:
        rows = _list(conn, req)
        _load(conn, req, rows)
    return rows


def _list(conn: Connection, req: Request) -> list[Any]:
    # Administrators see replicas of all projects, as with share instances: clients have no filter to ask for them.
    project_id = None if req.ctx.is_admin else req.ctx.project_id or ''
    return share_replicas.list_replicas(conn, req.query, req.page, project_id=project_id)


def show(req: Request) -> Any:
    """Show one share replica."""
    with req.ctx.db.reader() as conn:
        row = _get(conn, req)
        _load(conn, req, [row])
    return row


def _get(conn: Connection, req: Request) -> Any:
    return share_replicas.get(conn, req.ctx, req.params['share_replica_id'])


def create(req: Request) -> Any:
    """Create a share replica."""
    row, metadata = actions.create(req.ctx, req.body)
    req.related['metadata'] = {row.id: metadata}
    return row


def delete(req: Request) -> None:
    """Delete a share replica."""
    actions.delete(req.ctx, req.params['share_replica_id'])


def force_delete(req: Request) -> None:
    """Delete a share replica, even if its backend cannot delete it."""
    actions.delete(req.ctx, req.params['share_replica_id'], force=True)


def promote(req: Request) -> Any:
    """Promote a replica to be the active one; 200 means that it is active already."""
    row, changes = actions.promote(
        req.ctx, req.params['share_replica_id'], req.body.get('quiesce_wait_time') or 0
    )
    if not changes:
        req.ok = 200
    return related.loaded(req, row, _load)


def resync(req: Request) -> None:
    """Bring a replica up to date; 200 means that it is the active one."""
    if not actions.resync(req.ctx, req.params['share_replica_id']):
        req.ok = 200


def reset_status(req: Request) -> None:
    """Set the status of a share replica."""
    actions.reset_status(req.ctx, req.params['share_replica_id'], req.body['status'])


def reset_replica_state(req: Request) -> None:
    """Set the replica state of a share replica."""
    actions.reset_replica_state(req.ctx, req.params['share_replica_id'], req.body['replica_state'])


def exports(req: Request) -> list[Any]:
    """List the export locations of a replica."""
    with req.ctx.db.reader() as conn:
        row = req.related['replica'] = _get(conn, req)
        rows = [
            place
            for place in shares.export_locations_of(conn, (row.id,)).get(row.id, ())
            if req.ctx.is_admin or not place.is_admin_only
        ]
        related.load_pairs(conn, req, models.export_location_metadata, rows)
        return rows


def export(req: Request) -> Any:
    """Show one export location of a replica."""
    with req.ctx.db.reader() as conn:
        row = req.related['replica'] = _get(conn, req)
        place = places.get(
            conn, (row.id,), req.params['replica_export_location_id'], hidden=bool(req.ctx.is_admin)
        )
        related.load_pairs(conn, req, models.export_location_metadata, [place])
        return place
