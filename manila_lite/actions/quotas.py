# SPDX-License-Identifier: Apache-2.0
"""Actions on quotas. Limits are changed under the same lock under which usage is counted."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import quotas, share_types

#: Quotas that a share type may have limits of its own for.
OF_TYPES = (*quotas.BY_TYPE, 'per_share_gigabytes')


@dataclasses.dataclass(frozen=True)
class Scope:
    """The owner of quotas: a project, or one user or one share type (id) in it."""

    project_id: str
    user_id: str = ''
    share_type_id: str = ''

    @property
    def narrow(self) -> bool:
        """Whether the scope is a part of a project."""
        return bool(self.user_id or self.share_type_id)

    @property
    def part(self) -> dict[str, str]:
        """The user and the type, as ``db/queries/quotas.py`` takes them."""
        return {'user_id': self.user_id, 'share_type_id': self.share_type_id}

    def only(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that exist in the scope: a share type has no share networks."""
        return {key: value for key, value in values.items() if not self.share_type_id or key in OF_TYPES}


def get_scope(
    conn: Connection, ctx: RequestContext, project_id: str, user_id: str | None, share_type: str | None
) -> Scope:
    """Return the scope of a request; ``share_type`` is a name or an id.

    :raises errors.Invalid: both a user and a share type were given.
    :raises errors.NotFound: there is no such share type.
    """
    if user_id and share_type:
        raise errors.Invalid('share_type: cannot be given together with user_id.')
    if not share_type:
        return Scope(project_id, user_id or '')
    return Scope(project_id, share_type_id=share_types.find(conn, ctx, share_type).id)


def get(conn: Connection, ctx: RequestContext, scope: Scope) -> dict[str, int]:
    """Return the limits in force, by resource."""
    return scope.only(quotas.limits(conn, ctx.conf, scope.project_id, **scope.part))


def detail(conn: Connection, ctx: RequestContext, scope: Scope) -> dict[str, dict[str, int]]:
    """Return limit, in_use and reserved, by resource."""
    used = quotas.usages(conn, scope.project_id, **scope.part)
    none = quotas.Usage()
    return {
        key: {'limit': limit, 'in_use': used.get(key, none).in_use, 'reserved': used.get(key, none).reserved}
        for key, limit in get(conn, ctx, scope).items()
    }


def update(
    ctx: RequestContext,
    project_id: str,
    user_id: str | None,
    share_type: str | None,
    values: Mapping[str, int],
    *,
    force: bool = False,
) -> dict[str, int]:
    """Set limits. Return all limits in force.

    ``force``: accept limits below the usage, and limits of a user or share type over the project's, which holds for both
    in any case.

    :raises errors.Invalid: no limit is given, the project's id is too long, a share type has no such quota, usage is over
        a limit, or the limit of a user or share type is over the project's.
    """
    _check_any('quota_set', values)
    with ctx.db.writer() as conn:
        _check_name('project_id', project_id)
        scope = get_scope(conn, ctx, project_id, user_id, share_type)
        quotas.lock(conn, project_id)
        _check_known(scope, values)
        if scope.narrow and not force:
            _check_within(values, quotas.limits(conn, ctx.conf, project_id))
        if not force:
            _check_used(values, quotas.usages(conn, project_id, **scope.part))
        quotas.set_limits(conn, project_id, values, **scope.part)
        return get(conn, ctx, scope)


def _check_any(entity: str, values: Mapping[str, int]) -> None:
    if not values:
        raise errors.Invalid(f'{entity}: has no limit to set; give at least one, such as shares.')


def _check_name(field: str, name: str) -> None:
    if len(name) > 255:
        raise errors.Invalid(f'{field}: is longer than 255 characters.')


def _check_known(scope: Scope, values: Mapping[str, int]) -> None:
    for key in values:
        if key not in scope.only(values):
            raise errors.Invalid(f'{key}: is a quota of projects and users, not of share types.')


def _check_within(values: Mapping[str, int], most: Mapping[str, int]) -> None:
    for key, limit in values.items():
        if most[key] >= 0 and not 0 <= limit <= most[key]:
            raise errors.Invalid(
                f"{key}: the limit must be from 0 to the project's, {most[key]}, or be set with force."
            )


def _check_used(values: Mapping[str, int], used: Mapping[str, quotas.Usage]) -> None:
    for key, limit in values.items():
        total = used.get(key, quotas.Usage()).total
        if 0 <= limit < total:
            raise errors.Invalid(
                f'{key}: {total} are in use; the limit must be at least that, or be set with force.'
            )


def delete(ctx: RequestContext, project_id: str, user_id: str | None, share_type: str | None) -> None:
    """Delete the limits. The defaults apply again: the project's for a user or type, the quota class's for a project."""
    with ctx.db.writer() as conn:
        scope = get_scope(conn, ctx, project_id, user_id, share_type)
        quotas.delete_limits(conn, project_id, **scope.part)


def update_class(ctx: RequestContext, name: str, values: Mapping[str, int]) -> dict[str, int]:
    """Set limits of a quota class, and keep its others. Return all limits in force.

    :raises errors.Invalid: no limit is given, or the name of the class is too long.
    """
    _check_any('quota_class_set', values)
    _check_name('class_name', name)
    with ctx.db.writer() as conn:
        quotas.set_class_limits(conn, name, values)
        return quotas.class_limits(conn, ctx.conf, name)
