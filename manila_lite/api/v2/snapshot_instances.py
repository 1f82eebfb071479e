# SPDX-License-Identifier: Apache-2.0
"""Snapshot instances over HTTP, for administrators."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import snapshots as actions
from manila_lite.api.request import Request
from manila_lite.db import snapshot_instances


def index(req: Request) -> list[Any]:
    """List the instances of all snapshots."""
    with req.ctx.db.reader() as conn:
        return snapshot_instances.list_instances(conn, req.query, req.page)


def detail(req: Request) -> list[Any]:
    """List the instances of all snapshots in full."""
    return index(req)


def show(req: Request) -> Any:
    """Show one instance."""
    with req.ctx.db.reader() as conn:
        return snapshot_instances.get(conn, req.params['snapshot_instance_id'])


def reset_status(req: Request) -> None:
    """Set the status by hand."""
    actions.reset_status(req.ctx, show(req).snapshot_id, req.body['status'])


def exports(req: Request) -> list[Any]:
    """List where the instance can be mounted: nowhere, since no backend mounts snapshots. Clients ask with every show."""
    show(req)
    return []


def export(req: Request) -> Any:
    """Show one place where the instance can be mounted, of which there are none.

    :raises errors.NotFound: always.
    """
    show(req)
    raise errors.NotFound.of('export location', req.params['export_location_id'])
