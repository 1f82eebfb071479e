# SPDX-License-Identifier: Apache-2.0
"""Share group types, their group specs and share types, and the projects that may use private ones."""

import dataclasses
import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection

from manila_lite import context, errors
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.queries.type_access import Projects

_types = models.share_group_types
_specs = models.share_group_type_specs

#: The projects that may use private types.
PROJECTS = Projects(
    'share group type', _types, models.share_group_type_projects, code='share_group_type_is_public'
)


@dataclasses.dataclass(frozen=True)
class ShareGroupType:
    """A share group type with its group specs and the ids of its share types."""

    id: str
    name: str
    is_public: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    group_specs: Mapping[str, str]
    share_types: Sequence[str]


def _visible(ctx: context.RequestContext) -> list[sa.ColumnElement[bool]]:
    return [] if ctx.is_admin else [PROJECTS.can_use(ctx.project_id)]


def _find(
    conn: Connection, ctx: context.RequestContext, *where: sa.ColumnElement[bool]
) -> list[ShareGroupType]:
    rows = conn.execute(
        sa.select(_types).where(*_visible(ctx), *where).order_by(_types.c.created_at, _types.c.id)
    ).all()
    group_type_ids = [row.id for row in rows]
    specs = key_values.of_many(conn, _specs, group_type_ids)
    share_types = share_types_of(conn, models.share_group_type_share_types, group_type_ids)
    return [
        ShareGroupType(
            group_specs=specs.get(row.id, {}), share_types=share_types.get(row.id, ()), **row._asdict()
        )
        for row in rows
    ]


def share_types_of(conn: Connection, table: sa.Table, owners: Iterable[str]) -> dict[str, list[str]]:
    """Return the ids of the share types of group types or groups, by owner id."""
    type_ids: dict[str, list[str]] = defaultdict(list)
    query = (
        sa.select(table)
        .where(table.c.owner_id.in_(tuple(owners)))
        .order_by(table.c.owner_id, table.c.share_type_id)
    )
    for row in conn.execute(query):
        type_ids[row.owner_id].append(row.share_type_id)
    return type_ids


def set_share_types(conn: Connection, table: sa.Table, owner_id: str, share_type_ids: Iterable[str]) -> None:
    """Set the share types of a new group type or group."""
    conn.execute(
        table.insert(),
        [{'owner_id': owner_id, 'share_type_id': share_type_id} for share_type_id in share_type_ids],
    )


def list_types(
    conn: Connection,
    ctx: context.RequestContext,
    *,
    is_public: bool | None = None,
    group_specs: Mapping[str, str] | None = None,
) -> list[ShareGroupType]:
    """Return the types that the caller may use, in three statements for any number."""
    return _find(
        conn,
        ctx,
        *key_values.matching(_specs, _types.c.id, group_specs or {}),
        *PROJECTS.listed(ctx.project_id, is_public),
    )


def get(conn: Connection, ctx: context.RequestContext, group_type_id: str) -> ShareGroupType:
    """Return a type by id.

    :raises errors.NotFound: there is none, or the caller may not use it.
    """
    return _one(_find(conn, ctx, _types.c.id == group_type_id), group_type_id)


def find(conn: Connection, ctx: context.RequestContext, name_or_id: str) -> ShareGroupType:
    """Return a type by id or name.

    :raises errors.NotFound: there is none, or the caller may not use it.
    """
    return _one(_find(conn, ctx, sa.or_(_types.c.id == name_or_id, _types.c.name == name_or_id)), name_or_id)


def _one(types: list[ShareGroupType], wanted: str) -> ShareGroupType:
    if not types:
        raise errors.NotFound.of('share group type', wanted)
    return next((row for row in types if row.id == wanted), types[0])


def create(
    conn: Connection, name: str, specs: Mapping[str, str], share_types: Iterable[str], *, is_public: bool
) -> str:
    """Create the type. Return its id.

    :raises errors.Exists: the name is taken.
    """
    group_type_id = uuidutils.generate_uuid()
    try:
        conn.execute(_types.insert().values(id=group_type_id, name=name, is_public=is_public))
    except db_exception.DBDuplicateEntry:
        raise errors.Exists(f'name: a share group type named {name!r} exists already.') from None
    key_values.insert(conn, _specs, group_type_id, specs)
    set_share_types(conn, models.share_group_type_share_types, group_type_id, share_types)
    return group_type_id


def delete(conn: Connection, group_type_id: str) -> None:
    """Delete the type, with its specs, share types and project list.

    :raises errors.Invalid: a group uses it.
    """
    try:
        conn.execute(_types.delete().where(_types.c.id == group_type_id))
    except db_exception.DBReferenceError:
        raise errors.Invalid(
            f'Share group type {group_type_id} is in use by share groups and cannot be deleted.',
            code='share_group_type_in_use',
        ) from None
