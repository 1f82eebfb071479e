# SPDX-License-Identifier: Apache-2.0
"""Share types, their extra specs, and the projects that may use private ones."""

import dataclasses
import datetime
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection

from manila_lite import context, errors
from manila_lite.db import models
from manila_lite.db.core import key_values
from manila_lite.db.core.prepared import Query
from manila_lite.db.core.rows import group_rows
from manila_lite.db.queries.type_access import Projects

_types = models.share_types
_specs = models.share_type_extra_specs

#: The projects that may use private types.
PROJECTS = Projects('share type', _types, models.share_type_projects, code='share_type_is_public')

#: The one extra spec that is a list: names separated by commas, without blanks.
_ZONES = 'availability_zones'


@dataclasses.dataclass(frozen=True)
class ShareType:
    """A share type with its extra specs."""

    id: str
    name: str
    description: str | None
    is_public: bool
    created_at: datetime.datetime
    updated_at: datetime.datetime | None
    extra_specs: Mapping[str, str]


#: One row for each extra spec of a type, or one without: a request reads few types, and all it needs in one statement.
#: The table has another name here, so that conditions on extra specs look at all of a type's.
_shown = _specs.alias('shown_specs')
_ROWS = (
    sa.select(_types, _shown.c.key, _shown.c.value)
    .outerjoin(_shown, _shown.c.owner_id == _types.c.id)
    .order_by(_types.c.created_at, _types.c.id, _shown.c.key)
)


def _visible(ctx: context.RequestContext) -> list[sa.ColumnElement[bool]]:
    return [] if ctx.is_admin else [PROJECTS.can_use(ctx.project_id)]


@functools.cache
def _prepared(names: tuple[str, ...], everybody: bool, is_public: bool | None = None) -> Query:
    """Return the query for types that are called ``wanted`` by one of ``names``, or for all types: those of everybody, or those
    that ``project`` may use.
    """
    project: sa.BindParameter[str] = sa.bindparam('project')
    called = [sa.or_(*(_types.c[name] == sa.bindparam('wanted') for name in names))] if names else []
    visible = [] if everybody else [PROJECTS.can_use(project)]
    return Query(_ROWS.where(*called, *visible, *PROJECTS.listed(project, is_public)))


def _with_specs(rows: Sequence[Any]) -> list[ShareType]:
    return [
        ShareType(
            extra_specs={row.key: row.value for row in found if row.key is not None},
            **dict(zip(_types.c.keys(), found[0], strict=False)),
        )  # the rest are the key and the value
        for found in group_rows(rows, 'id').values()
    ]


def _one(conn: Connection, ctx: context.RequestContext, wanted: str, *names: str) -> ShareType:
    types = _with_specs(
        _prepared(names, ctx.is_admin).all(conn, {'wanted': wanted, 'project': ctx.project_id})
    )
    if not types:
        raise errors.NotFound.of('share type', wanted)
    return next((row for row in types if row.id == wanted), types[0])


def list_types(
    conn: Connection,
    ctx: context.RequestContext,
    *,
    is_public: bool | None = None,
    extra_specs: Mapping[str, str] | None = None,
) -> list[ShareType]:
    """Return the types that the caller may use, in one statement for any number."""
    if not extra_specs:
        return _with_specs(_prepared((), ctx.is_admin, is_public).all(conn, {'project': ctx.project_id}))
    where = _visible(ctx) + _having(dict(extra_specs)) + PROJECTS.listed(ctx.project_id, is_public)
    return _with_specs(conn.execute(_ROWS.where(*where)).all())


def _having(wanted: dict[str, str]) -> list[sa.ColumnElement[bool]]:
    """Return conditions for types with these extra specs. A type without zones is for all; else each zone must be listed."""
    zones = [name.strip() for name in wanted.pop(_ZONES, '').split(',') if name.strip()]
    listed = sa.literal(',').concat(_specs.c.value).concat(',')
    of_type = _specs.c.owner_id == _types.c.id, _specs.c.key == _ZONES
    return key_values.matching(_specs, _types.c.id, wanted) + [
        sa.or_(
            ~sa.exists().where(*of_type),
            sa.exists().where(*of_type, listed.contains(f',{name},', autoescape=True)),
        )
        for name in zones
    ]


def get(conn: Connection, ctx: context.RequestContext, share_type_id: str) -> ShareType:
    """Return a type by id.

    :raises errors.NotFound: there is none, or the caller may not use it.
    """
    return _one(conn, ctx, share_type_id, 'id')


def find(conn: Connection, ctx: context.RequestContext, name_or_id: str) -> ShareType:
    """Return a type by id or name.

    :raises errors.NotFound: there is none, or the caller may not use it.
    """
    return _one(conn, ctx, name_or_id, 'id', 'name')


def create(
    conn: Connection,
    name: str,
    extra_specs: Mapping[str, str],
    *,
    description: str | None = None,
    is_public: bool = True,
) -> str:
    """Create the type. Return its id.

    :raises errors.Exists: the name is taken.
    """
    share_type_id = uuidutils.generate_uuid()
    try:
        conn.execute(
            _types.insert().values(id=share_type_id, name=name, description=description, is_public=is_public)
        )
    except db_exception.DBDuplicateEntry:
        raise errors.Exists(f'name: a share type named {name!r} exists already.') from None
    key_values.insert(conn, _specs, share_type_id, extra_specs)
    return share_type_id


def update(conn: Connection, share_type_id: str, values: dict[str, Any]) -> None:
    """Set these values of the type (name, description, is_public).

    :raises errors.Exists: the name is taken.
    """
    if not values:
        return
    try:
        conn.execute(_types.update().where(_types.c.id == share_type_id).values(**values))
    except db_exception.DBDuplicateEntry:
        raise errors.Exists(f'name: a share type named {values["name"]!r} exists already.') from None


def delete(conn: Connection, share_type_id: str) -> None:
    """Delete the type, with its specs, project list and quotas.

    :raises errors.Invalid: a share uses it.
    """
    used = conn.execute(
        sa.select(models.share_instances.c.id)
        .where(models.share_instances.c.share_type_id == share_type_id)
        .limit(1)
    ).first()
    if used:
        raise _in_use(share_type_id)
    conn.execute(models.quotas.delete().where(models.quotas.c.share_type_id == share_type_id))
    try:
        conn.execute(_types.delete().where(_types.c.id == share_type_id))
    except db_exception.DBReferenceError:  # a share was created meanwhile
        raise _in_use(share_type_id) from None


def _in_use(share_type_id: str) -> errors.Invalid:
    return errors.Invalid(
        f'Share type {share_type_id} is in use by shares and cannot be deleted.', code='share_type_in_use'
    )
