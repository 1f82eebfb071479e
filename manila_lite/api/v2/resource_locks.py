# SPDX-License-Identifier: Apache-2.0
"""The calls for resource locks, which prevent the deletion of a share, and the deletion or display of an access rule."""

from typing import Any

from manila_lite.actions import resource_locks as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, act, listing, path
from manila_lite.api.request import Request
from manila_lite.db.queries import resource_locks


def show(req: Request) -> Any:
    """Show one resource lock."""
    with req.ctx.db.reader() as conn:
        return resource_locks.get(
            conn, req.params['resource_lock_id'], project_id=actions.visible_project(req.ctx)
        )


_TYPES, _ACTIONS = [resource_locks.SHARE, resource_locks.RULE], [resource_locks.DELETE, resource_locks.SHOW]
# Fields and calls -------------------------------------------------------------------------------

_CONTEXTS = [actions.USER, actions.ADMIN, actions.SERVICE]

LOCK = View(
    'resource_lock',
    'resource_locks',
    (
        Field('id', shapes.ID),
        Field('user_id', shapes.NULL_STRING),
        Field('project_id', shapes.STRING),
        Field('lock_context', {'type': 'string', 'enum': _CONTEXTS}),
        Field('resource_type', {'type': 'string', 'enum': _TYPES}),
        Field('resource_id', shapes.ID),
        Field('resource_action', {'type': 'string', 'enum': _ACTIONS}),
        Field('lock_reason', shapes.NULL_STRING),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
    ),
    'resource-locks',
)

CHANGE = (
    Field('resource_action', {'type': ['string', 'null'], 'enum': [*_ACTIONS, None]}),
    Field('lock_reason', {'type': ['string', 'null'], 'maxLength': 1023}),
)

CREATE = (
    Field('resource_id', shapes.UUID, required=True),
    Field('resource_type', {'type': 'string', 'enum': [resource_locks.SHARE]}, until='2.81', required=True),
    Field('resource_type', {'type': 'string', 'enum': _TYPES}, since='2.82', required=True),
    *CHANGE,
)

FILTERS = (
    *(
        Field(name, shapes.STRING)
        for name in (
            'id',
            'user_id',
            'project_id',
            'resource_id',
            'resource_type',
            'resource_action',
            'lock_context',
            'lock_reason',
            'lock_reason~',
        )
    ),
    *(Field(name, shapes.STRING, parse=shapes.time) for name in ('created_since', 'created_before')),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    Field('with_count', shapes.FLAG, parse=shapes.flag),
    *PAGE,
)

_LOCK = '/resource-locks/{resource_lock_id}'

CALLS = [
    Call(
        'GET',
        '/resource-locks',
        listing(
            'List resource locks, the newest first.',
            resource_locks.list_locks,
            'resource_lock:get_all_projects',
            count=resource_locks.count,
        ),
        'resource_lock:get_all',
        Many(LOCK, counted=True, paged=True),
        since='2.81',
        query=FILTERS,
    ),
    Call(
        'POST',
        '/resource-locks',
        act('Lock a share or an access rule.', actions.create, BODY),
        'resource_lock:create',
        One(LOCK),
        since='2.81',
        body=Body('resource_lock', CREATE, strict=True),
    ),
    Call('GET', _LOCK, show, 'resource_lock:get', One(LOCK), since='2.81'),
    Call(
        'PUT',
        _LOCK,
        act('Change a resource lock.', actions.update, path('resource_lock_id'), BODY),
        'resource_lock:update',
        One(LOCK),
        since='2.81',
        body=Body('resource_lock', CHANGE, strict=True),
    ),
    Call(
        'DELETE',
        _LOCK,
        act('Delete a resource lock.', actions.delete, path('resource_lock_id')),
        'resource_lock:delete',
        ok=204,
        since='2.81',
    ),
]
