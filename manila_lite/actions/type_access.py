# SPDX-License-Identifier: Apache-2.0
"""Actions on the projects that may use a private type. ``types`` is ``db.types`` or ``db.share_group_types``."""

from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection


def list_projects(ctx: RequestContext, types: Any, type_id: str) -> list[dict[str, str]]:
    """Return the projects that may use the type, as the API shows them.

    :raises errors.NotFound: the type is public.
    """
    projects = types.PROJECTS
    with ctx.db.reader() as conn:
        if types.get(conn, ctx, type_id).is_public:
            raise errors.NotFound(
                f'{projects.resource_name.capitalize()} {type_id} is public; it has no list of projects.',
                code=f'{projects.name}_access_not_found',
            )
        return [
            {f'{projects.name}_id': type_id, 'project_id': project} for project in projects.of(conn, type_id)
        ]


def add(ctx: RequestContext, types: Any, type_id: str, project_id: str) -> None:
    """Allow a project to use the type.

    :raises errors.Conflict: the type is public, or the project could use it already.
    """
    with ctx.db.writer() as conn:
        _must_be_private(conn, ctx, types, type_id)
        types.PROJECTS.add(conn, type_id, project_id)


def remove(ctx: RequestContext, types: Any, type_id: str, project_id: str) -> None:
    """Withdraw a project's right to use the type. Its existing shares or groups of the type stay.

    :raises errors.Conflict: the type is public.
    :raises errors.NotFound: the project could not use it.
    """
    with ctx.db.writer() as conn:
        _must_be_private(conn, ctx, types, type_id)
        types.PROJECTS.remove(conn, type_id, project_id)


def _must_be_private(conn: Connection, ctx: RequestContext, types: Any, type_id: str) -> None:
    if types.get(conn, ctx, type_id).is_public:
        name = types.PROJECTS.resource_name.capitalize()
        raise errors.Conflict(
            f'{name} {type_id} is public: every project has access to it.', code=types.PROJECTS.code
        )
