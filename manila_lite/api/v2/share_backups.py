# SPDX-License-Identifier: Apache-2.0
"""The calls for backups of shares."""

from typing import Any

from manila_lite import errors, states
from manila_lite.actions import share_backups as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, Plain, View
from manila_lite.api.framework.handlers import BODY, CTX, act, field, listing, path, read
from manila_lite.api.request import Request
from manila_lite.db.queries import share_backups
from manila_lite.policies import base


def restore_to(req: Request) -> dict[str, Any]:
    """Restore a backup to its share, or to the share whose id is in the body, with or without a key."""
    wanted = req.body.get('target_share_id') if isinstance(req.body, dict) else req.body
    return _restored(req, actions.restore(req.ctx, req.params['backup_id'], wanted or None))


def _restored(req: Request, row: Any) -> dict[str, Any]:
    return {'backup_id': row.id, 'share_id': row.target_share_id}


# Fields and calls -------------------------------------------------------------------------------

_FIRST = (
    Field('id', shapes.ID),
    Field('share_id', shapes.ID),
    Field('name', shapes.NAME),
    Field('status', {'type': 'string', 'enum': sorted(states.SHARE_BACKUP.statuses)}),
)
SUMMARY = View('share_backup', 'share_backups', _FIRST)
BACKUP = View(
    'share_backup',
    'share_backups',
    (
        *_FIRST,
        Field('description', shapes.NAME),
        Field('size', shapes.INTEGER),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
        Field('availability_zone', shapes.NULL_STRING),
        Field('progress', shapes.STRING),
        Field('restore_progress', shapes.STRING),
        Field('backup_type', shapes.STRING, since='2.85'),
        Field('host', shapes.STRING, rule=base.CONTEXT_IS_ADMIN),
        Field('topic', shapes.STRING, rule=base.CONTEXT_IS_ADMIN),
    ),
)

_NAMES = (
    Field('name', shapes.NAME, aliases=('display_name',)),
    Field('description', shapes.NAME, aliases=('display_description',)),
)

CREATE = (
    Field('share_id', shapes.REFERENCE, required=True),
    *_NAMES,
    # Manila hands other options to the driver; no driver here has any.
    Field(
        'backup_options',
        {
            'type': ['object', 'null'],
            'additionalProperties': False,
            'properties': {'backup_type': {'type': ['string', 'null'], 'maxLength': 255}},
        },
    ),
)

FILTERS = (
    *(
        Field(name, shapes.STRING)
        for name in ('share_id', 'status', 'host', 'topic', 'user_id', 'project_id')
    ),
    Field('backup_type', shapes.STRING, since='2.85'),
    Field('name', shapes.STRING, aliases=('display_name',)),
    Field('description', shapes.STRING, aliases=('display_description',)),
    Field('name~', shapes.STRING, aliases=('display_name~',)),
    Field('description~', shapes.STRING, aliases=('display_description~',)),
    Field('size', {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT}, parse=shapes.integer),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    Field('with_count', shapes.FLAG, parse=shapes.flag),
    *PAGE,
)

_TO_ITS_SHARE = Body('restore', optional=True)
_TO_ANY_SHARE = Body(
    'restore',
    optional=True,
    free={
        'anyOf': [
            {'type': 'null'},
            shapes.UUID,
            {
                'type': 'object',
                'properties': {'target_share_id': shapes.NULL_UUID},
                'additionalProperties': False,
            },
        ]
    },
)
_RESTORED = Plain(shapes.document({'backup_id': shapes.ID, 'share_id': shapes.ID}), 'restore')

_ONE = '/share-backups/{backup_id}'
_BUSY = ((errors.WrongState, 400),)
_ACTION = f'{_ONE}/action'


def _call(*args: Any, since: str = '2.80', **more: Any) -> Call:
    return Call(*args, since=since, experimental_until='2.99', **more)  # type: ignore[misc]


CALLS = [
    _call(
        'GET',
        '/share-backups',
        listing(
            'List ids, names and statuses of share backups.',
            share_backups.list_backups,
            'share_backup:get_all_project',
            count=share_backups.count,
        ),
        'share_backup:get_all',
        Many(SUMMARY, counted=True, paged=True, beside=BACKUP.fields),
        query=FILTERS,
    ),
    _call(
        'GET',
        '/share-backups/detail',
        listing(
            'List share backups with details.',
            share_backups.list_backups,
            'share_backup:get_all_project',
            name='detail',
            count=share_backups.count,
        ),
        'share_backup:get_all',
        Many(BACKUP, counted=True, paged=True),
        query=FILTERS,
    ),
    _call(
        'GET',
        _ONE,
        read('Show one share backup.', share_backups.get, CTX, path('backup_id'), name='show'),
        'share_backup:get',
        One(BACKUP),
    ),
    _call(
        'POST',
        '/share-backups',
        act('Back up a share.', actions.create, BODY),
        'share_backup:create',
        One(BACKUP),
        ok=202,
        once=True,
        states=_BUSY,
        body=Body('share_backup', CREATE, missing=errors.Unprocessable),
    ),
    _call(
        'PUT',
        _ONE,
        act('Change the name or description of a share backup.', actions.update, path('backup_id'), BODY),
        'share_backup:update',
        One(BACKUP),
        body=Body('share_backup', _NAMES, missing=errors.Unprocessable),
    ),
    _call(
        'DELETE',
        _ONE,
        act('Delete a share backup.', actions.delete, path('backup_id')),
        'share_backup:delete',
        ok=202,
        states=_BUSY,
    ),
    _call(
        'POST',
        _ACTION,
        act('Restore a backup to its share.', actions.restore, path('backup_id'), then=_restored),
        'share_backup:restore',
        _RESTORED,
        ok=202,
        until='2.90',
        action='restore',
        states=_BUSY,
        body=_TO_ITS_SHARE,
    ),
    _call(
        'POST',
        _ACTION,
        restore_to,
        'share_backup:restore',
        _RESTORED,
        ok=202,
        since='2.91',
        action='restore',
        states=_BUSY,
        body=_TO_ANY_SHARE,
    ),
    _call(
        'POST',
        _ACTION,
        act('Set the status of a share backup.', actions.reset_status, path('backup_id'), field('status')),
        'share_backup:reset_status',
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', shapes.STRING, required=True),)),
    ),
]
