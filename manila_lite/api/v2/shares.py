# SPDX-License-Identifier: Apache-2.0
"""Handlers for shares: from the parsed request to an action or a query, and back."""

from typing import Any

from manila_lite import errors, key_manager, states
from manila_lite.actions import share_migration
from manila_lite.actions import shares as actions
from manila_lite.api import versions
from manila_lite.api.request import Request
from manila_lite.api.v2 import related
from manila_lite.db.queries import shares
from manila_lite.policies import shares as rules

# Reading rows -----------------------------------------------------------------------------------


def exports_of(row: Any, req: Request) -> list[str]:
    """Read a share's export paths, as versions below 2.9 show them."""
    return [
        export.path
        for export in req.related.get('exports', {}).get(row.instance_id, ())
        if not export.is_admin_only or req.ctx.is_admin
    ]


def first_export(row: Any, req: Request) -> str | None:
    """Read the preferred export path."""
    return next(iter(exports_of(row, req)), None)


def rules_status(row: Any, req: Request) -> str:
    """Read the state of all access rules together. Below 2.28 ``syncing`` is shown as ``out_of_sync``."""
    if req.version < versions.STATES_OF_RULES and row.access_rules_status == states.Rules.SYNCING:
        return 'out_of_sync'
    return str(row.access_rules_status)


def has_replicas(row: Any, req: Request) -> bool:
    """Read whether the share has a replica beside the active one; looked up for all rows at once."""
    return row.id in req.related.get('replicated', ())


#: Filters by export locations. Users do not see those that are for administrators only.
_BY_EXPORT = {'export_location_id', 'export_location_path'}

# Lists ------------------------------------------------------------------------------------------


def index(req: Request) -> list[Any]:
    """List ids and names of shares."""
    return _list(req, detail=False)


def detail(req: Request) -> list[Any]:
    """List shares with details."""
    return _list(req, detail=True)


def _list(req: Request, *, detail: bool) -> list[Any]:
    filters = dict(req.query)
    scope: dict[str, Any] = {'project_id': related.choose_project(req, filters, rules.LIST_ALL_PROJECTS)}
    if filters.get('share_server_id') is not None and req.ctx.is_admin:
        scope['project_id'] = None  # all shares of the server, of any project
    public = filters.pop('is_public', None)
    if not _BY_EXPORT.isdisjoint(filters):
        filters['admin_exports'] = req.ctx.is_admin
    scope['deferred'] = req.may(rules.LIST_DELETED)
    with req.ctx.db.reader() as conn:
        rows = shares.list_shares(conn, filters, req.page, public=bool(public), **scope)
        if filters.get('with_count'):
            req.count = shares.count(conn, filters, public=bool(public), **scope)
        if detail:
            related.load_for_shares(conn, req, rows)
    return rows


# One share --------------------------------------------------------------------------------------


def show(req: Request) -> Any:
    """Show one share."""
    with req.ctx.db.reader() as conn:
        row = shares.get(conn, req.ctx, req.params['share_id'])
        related.load_for_shares(conn, req, [row])
    return row


def create(req: Request) -> Any:
    """Create a share."""
    if key := req.body.get('encryption_key_ref'):
        key_manager.vet(req.ctx, req.raw.headers.get('X-Auth-Token'), key)
    row, metadata = actions.create(
        req.ctx, {**req.body, 'zones_of_type': req.version >= versions.ZONES_OF_TYPES}
    )
    req.related['metadata'] = {row.id: metadata}
    return row


def update(req: Request) -> Any:
    """Change the name, description or visibility of a share."""
    return related.loaded(
        req, actions.update(req.ctx, req.params['share_id'], req.body), related.load_for_shares
    )


def delete(req: Request) -> None:
    """Delete a share."""
    actions.delete(req.ctx, req.params['share_id'], group_id=req.query.get('share_group_id'))


def force_delete(req: Request) -> None:
    """Delete a share in any status."""
    actions.delete(req.ctx, req.params['share_id'], force=True)


def reset_task_state(req: Request) -> None:
    """Set the task state of a share, or, without the right to do so, change nothing and name the ignored field."""
    if not req.may(rules.RESET_TASK_STATE):
        with req.ctx.db.reader() as conn:
            shares.get(conn, req.ctx, req.params['share_id'], own=True)
        req.ignored.append('reset_task_state.task_state')
        return
    share_migration.reset_task_state(req.ctx, req.params['share_id'], req.body.get('task_state'))


def reset_status(req: Request) -> None:
    """Set the status of a share."""
    actions.reset_status(req.ctx, req.params['share_id'], req.body['status'])


def extend(req: Request) -> None:
    """Extend a share."""
    force = bool(req.body.get('force'))
    if force and not req.may(rules.FORCE_EXTEND):
        raise errors.Forbidden("force: only administrators may extend past the pool's capacity.")
    actions.extend(req.ctx, req.params['share_id'], req.body['new_size'], force=force)


def shrink(req: Request) -> None:
    """Shrink a share."""
    actions.shrink(req.ctx, req.params['share_id'], req.body['new_size'])


def revert(req: Request) -> None:
    """Revert a share to its latest snapshot."""
    actions.revert(req.ctx, req.params['share_id'], req.body['snapshot_id'])
