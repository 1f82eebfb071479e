# SPDX-License-Identifier: Apache-2.0
"""Handlers for quota sets."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import quotas as actions
from manila_lite.api.request import Request
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import quotas
from manila_lite.policies import quotas as rules


def _project(req: Request, rule: str = rules.GET) -> str:
    """Return the project of the URL.

    :raises errors.Forbidden: the rule does not allow the caller to use its quotas.
    """
    project = req.params['quota_project_id']
    if not req.may(rule, {'project_id': project, 'user_id': req.ctx.user_id}):
        raise errors.Forbidden(f'Only administrators and users of project {project} may see its quotas.')
    return project


def _scope(conn: Connection, req: Request) -> actions.Scope:
    return actions.get_scope(
        conn, req.ctx, _project(req), req.query.get('user_id'), req.query.get('share_type')
    )


def show(req: Request) -> dict[str, Any]:
    """Show the limits of a project, or of a user or share type in it."""
    with req.ctx.db.reader() as conn:
        scope = _scope(conn, req)
        return {'id': scope.project_id, **actions.get(conn, req.ctx, scope)}


def detail(req: Request) -> dict[str, Any]:
    """Show the limits of a project, or of a user or share type in it, and their usage."""
    with req.ctx.db.reader() as conn:
        scope = _scope(conn, req)
        return {'id': scope.project_id, **actions.detail(conn, req.ctx, scope)}


def defaults(req: Request) -> dict[str, Any]:
    """Show the default limits of a project. They are the same for each, so every reader may see those of any project."""
    with req.ctx.db.reader() as conn:
        return {
            'id': req.params['quota_project_id'],
            **quotas.class_limits(conn, req.ctx.conf, quotas.DEFAULT_CLASS),
        }


def update(req: Request) -> dict[str, Any]:
    """Set limits of a project, or of a user or share type in it."""
    values = {
        key: value
        for key, value in req.body.items()
        if value is not None and key not in ('force', 'tenant_id')
    }
    return actions.update(
        req.ctx,
        _project(req, rules.UPDATE),
        req.query.get('user_id'),
        req.query.get('share_type'),
        values,
        force=bool(req.body.get('force')),
    )


def delete(req: Request) -> None:
    """Reset limits of a project, or of a user or share type in it, to the defaults."""
    actions.delete(
        req.ctx, _project(req, rules.DELETE), req.query.get('user_id'), req.query.get('share_type')
    )
