# SPDX-License-Identifier: Apache-2.0
"""The calls for quota sets, and the resources that have quotas, with the versions that show them."""

import dataclasses
from typing import Any

from manila_lite import errors
from manila_lite.actions import quotas as actions
from manila_lite.api.framework import fields, shapes
from manila_lite.api.framework.call import Body, Call, Field, Plain
from manila_lite.api.request import Request
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import quotas


def _project(req: Request, rule: str = 'quota_set:show') -> str:
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
        _project(req, 'quota_set:update'),
        req.query.get('user_id'),
        req.query.get('share_type'),
        values,
        force=bool(req.body.get('force')),
    )


def delete(req: Request) -> None:
    """Reset limits of a project, or of a user or share type in it, to the defaults."""
    actions.delete(
        req.ctx, _project(req, 'quota_set:delete'), req.query.get('user_id'), req.query.get('share_type')
    )


# Fields and calls -------------------------------------------------------------------------------


def _limit(value: Any) -> int:
    number = shapes.integer(value)
    if number < -1:
        raise ValueError(f'must be a number from -1, which means no limit; not {value}')
    return number


_LIMIT = {
    'type': ['integer', 'string', 'null'],
    'minimum': -1,
    'maximum': shapes.MAX_INT,
    'pattern': r'^-?[0-9]{1,10}$',
}

#: A field for each resource, as bodies have it.
RESOURCES = tuple(
    Field(name, _LIMIT, since=since, parse=_limit)
    for name, since in (
        ('shares', '2.0'),
        ('gigabytes', '2.0'),
        ('snapshots', '2.0'),
        ('snapshot_gigabytes', '2.0'),
        ('share_networks', '2.0'),
        ('share_groups', '2.40'),
        ('share_group_snapshots', '2.40'),
        ('share_replicas', '2.53'),
        ('replica_gigabytes', '2.53'),
        ('per_share_gigabytes', '2.62'),
        ('backups', '2.80'),
        ('backup_gigabytes', '2.80'),
        ('encryption_keys', '2.90'),
    )
)


@dataclasses.dataclass(frozen=True, eq=False)
class Limits(Plain):
    """An answer under ``key`` with a ``body`` for each resource of the version, if the handler returns it.

    Share types have fewer resources. ``named``: the answer also has the ``id`` of its owner.
    """

    named: bool = True

    def render(self, limits: dict[str, Any], req: Any) -> dict[str, Any]:
        shown = {'id': limits['id']} if self.named else {}
        shown.update(
            (field.name, limits[field.name])
            for field in fields.fields_at(RESOURCES, req.version)
            if field.name in limits
        )
        return super().render(shown, req)

    def schema(self, version: int) -> shapes.Schema:
        names = [field.name for field in fields.fields_at(RESOURCES, version)]
        always = {name: self.body for name in names if name in actions.OF_TYPES}
        if self.named:
            always['id'] = shapes.ID
        return shapes.document({str(self.key): shapes.document(always, dict.fromkeys(names, self.body))})


_DETAIL = shapes.document({'limit': shapes.INTEGER, 'in_use': shapes.COUNT, 'reserved': shapes.COUNT})


def _refuse(value: Any) -> None:
    raise ValueError('is not known at this version; from 2.39 on, share types have quotas')


_WHOSE = (
    Field('user_id', {'type': 'string', 'maxLength': 255}),
    Field('share_type', {'type': 'string'}, until='2.38', parse=_refuse),
    Field('share_type', {'type': 'string'}, since='2.39'),
)

_BODY = Body(
    'quota_set',
    (*RESOURCES, Field('force', shapes.NULL_FLAG, parse=shapes.flag), Field('tenant_id', shapes.NULL_STRING)),
    strict=True,
)

_SET = '/quota-sets/{quota_project_id}'
_OLD = '/os-quota-sets/{quota_project_id}'

CALLS = [
    Call(
        'GET', _SET, show, 'quota_set:show', Limits(shapes.INTEGER, 'quota_set'), query=_WHOSE, old_path=_OLD
    ),
    Call(
        'GET',
        f'{_SET}/detail',
        detail,
        'quota_set:show',
        Limits(_DETAIL, 'quota_set'),
        since='2.25',
        query=_WHOSE,
    ),
    Call(
        'GET',
        f'{_SET}/defaults',
        defaults,
        'quota_set:show',
        Limits(shapes.INTEGER, 'quota_set'),
        old_path=f'{_OLD}/defaults',
    ),
    Call(
        'PUT',
        _SET,
        update,
        'quota_set:update',
        Limits(shapes.INTEGER, 'quota_set', named=False),
        query=_WHOSE,
        body=_BODY,
        old_path=_OLD,
    ),
    Call('DELETE', _SET, delete, 'quota_set:delete', ok=202, query=_WHOSE, old_path=_OLD),
]
