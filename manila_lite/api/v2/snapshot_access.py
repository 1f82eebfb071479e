# SPDX-License-Identifier: Apache-2.0
"""Handlers for access rules and export locations of snapshots."""

from typing import Any

from manila_lite.actions import snapshot_access as actions
from manila_lite.api import versions
from manila_lite.api.request import Request
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import snapshot_access, snapshot_instances, snapshots


def allow(req: Request) -> Any:
    """Add an access rule to a snapshot."""
    return actions.allow(
        req.ctx, req.params['snapshot_id'], req.body, ipv6=req.version >= versions.IPV6_RULES
    )


def deny(req: Request) -> None:
    """Remove an access rule of a snapshot."""
    actions.deny(req.ctx, req.params['snapshot_id'], req.body['access_id'])


def index(req: Request) -> list[Any]:
    """List a snapshot's access rules."""
    with req.ctx.db.reader() as conn:
        return snapshot_access.of_snapshot(conn, _snapshot_of_path(conn, req))


def exports(req: Request) -> list[Any]:
    """List the export locations of a snapshot."""
    with req.ctx.db.reader() as conn:
        return _exports(conn, req, _snapshot_of_path(conn, req))


def export(req: Request) -> Any:
    """Show one export location of a snapshot."""
    with req.ctx.db.reader() as conn:
        return _export(conn, req, _snapshot_of_path(conn, req))


def instance_exports(req: Request) -> list[Any]:
    """List the export locations of a snapshot instance."""
    with req.ctx.db.reader() as conn:
        return _exports(conn, req, _snapshot_of_instance(conn, req))


def instance_export(req: Request) -> Any:
    """Show one export location of a snapshot instance."""
    with req.ctx.db.reader() as conn:
        return _export(conn, req, _snapshot_of_instance(conn, req))


def _snapshot_of_path(conn: Connection, req: Request) -> str:
    """Return the id of the snapshot in the path, which the caller sees."""
    return str(snapshots.get(conn, req.ctx, req.params['snapshot_id']).id)


def _snapshot_of_instance(conn: Connection, req: Request) -> str:
    """Return the id of the snapshot whose instance is in the path."""
    return str(snapshot_instances.get(conn, req.ctx, req.params['snapshot_instance_id']).snapshot_id)


def _exports(conn: Connection, req: Request, snapshot_id: str) -> list[Any]:
    return snapshot_access.export_locations_of(conn, snapshot_id, hidden=bool(req.ctx.is_admin))


def _export(conn: Connection, req: Request, snapshot_id: str) -> Any:
    return snapshot_access.get_export_location(
        conn, snapshot_id, req.params['snapshot_export_location_id'], hidden=bool(req.ctx.is_admin)
    )
