# SPDX-License-Identifier: Apache-2.0
"""Handlers for access rules and export locations of snapshots."""

from typing import Any

from manila_lite.actions import snapshot_access as actions
from manila_lite.api import versions
from manila_lite.api.request import Request
from manila_lite.db.queries import snapshot_access, snapshot_instances, snapshots


def allow(req: Request) -> Any:
    """Add an access rule to a snapshot."""
    return actions.allow(req.ctx, req.params['snapshot_id'], req.body, ipv6=req.version >= versions.IPV6_RULES)


def deny(req: Request) -> None:
    """Remove an access rule of a snapshot."""
    actions.deny(req.ctx, req.params['snapshot_id'], req.body['access_id'])


def index(req: Request) -> list[Any]:
    """List a snapshot's access rules."""
    with req.ctx.db.reader() as conn:
        return snapshot_access.of_snapshot(conn, snapshots.get(conn, req.ctx, req.params['snapshot_id']).id)


def exports(req: Request) -> list[Any]:
    """List the export locations of a snapshot."""
    with req.ctx.db.reader() as conn:
        found = snapshots.get(conn, req.ctx, req.params['snapshot_id'])
        return snapshot_access.export_locations_of(conn, found.id, hidden=bool(req.ctx.is_admin))


def export(req: Request) -> Any:
    """Show one export location of a snapshot."""
    with req.ctx.db.reader() as conn:
        found = snapshots.get(conn, req.ctx, req.params['snapshot_id'])
        return snapshot_access.get_export_location(conn, found.id, req.params['snapshot_export_location_id'],
                                                   hidden=bool(req.ctx.is_admin))


def instance_exports(req: Request) -> list[Any]:
    """List the export locations of a snapshot instance."""
    with req.ctx.db.reader() as conn:
        found = snapshot_instances.get(conn, req.ctx, req.params['snapshot_instance_id'])
        return snapshot_access.export_locations_of(conn, found.snapshot_id, hidden=bool(req.ctx.is_admin))


def instance_export(req: Request) -> Any:
    """Show one export location of a snapshot instance."""
    with req.ctx.db.reader() as conn:
        found = snapshot_instances.get(conn, req.ctx, req.params['snapshot_instance_id'])
        return snapshot_access.get_export_location(conn, found.snapshot_id, req.params['snapshot_export_location_id'],
                                                   hidden=bool(req.ctx.is_admin))
