# SPDX-License-Identifier: Apache-2.0
"""The calls for backups of shares."""

from typing import Any

from manila_lite import errors, states
from manila_lite.api.contract import fields, shapes
from manila_lite.api.contract.call import PAGE, Body, Call, Field, Many, One
from manila_lite.api.contract.fields import INTEGER, STRING, Plain, View
from manila_lite.api.contract.shapes import ID, NAME, NULL_STRING, NULL_TIME, TIME
from manila_lite.api.v2 import share_backups as v2
from manila_lite.policies import base
from manila_lite.policies import share_backups as rules

_FIRST = (
    Field('id', ID),
    Field('share_id', ID),
    Field('name', NAME),
    Field('status', {'type': 'string', 'enum': sorted(states.SHARE_BACKUP.statuses)}),
)
SUMMARY = View('share_backup', 'share_backups', _FIRST)
BACKUP = View(
    'share_backup',
    'share_backups',
    (
        *_FIRST,
        Field('description', NAME),
        Field('size', INTEGER),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
        Field('availability_zone', NULL_STRING),
        Field('progress', STRING),
        Field('restore_progress', STRING),
        Field('backup_type', STRING, since='2.85'),
        Field('host', STRING, rule=base.CONTEXT_IS_ADMIN),
        Field('topic', STRING, rule=base.CONTEXT_IS_ADMIN),
    ),
)

_NAMES = (
    Field('name', NAME, aliases=('display_name',)),
    Field('description', NAME, aliases=('display_description',)),
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
    *(Field(name, STRING) for name in ('share_id', 'status', 'host', 'topic', 'user_id', 'project_id')),
    Field('backup_type', STRING, since='2.85'),
    Field('name', STRING, aliases=('display_name',)),
    Field('description', STRING, aliases=('display_description',)),
    Field('name~', STRING, aliases=('display_name~',)),
    Field('description~', STRING, aliases=('display_description~',)),
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
_RESTORED = Plain(fields.document({'backup_id': ID, 'share_id': ID}), 'restore')

_ONE = '/share-backups/{backup_id}'
_BUSY = ((errors.WrongState, 400),)
_ACTION = f'{_ONE}/action'


def _op(*args: Any, since: str = '2.80', **more: Any) -> Call:
    return Call(*args, since=since, experimental_until='2.99', **more)  # type: ignore[misc]


OPS = [
    _op(
        'GET',
        '/share-backups',
        v2.index,
        rules.GET_ALL,
        Many(SUMMARY, counted=True, paged=True, beside=BACKUP.fields),
        query=FILTERS,
    ),
    _op(
        'GET',
        '/share-backups/detail',
        v2.detail,
        rules.GET_ALL,
        Many(BACKUP, counted=True, paged=True),
        query=FILTERS,
    ),
    _op('GET', _ONE, v2.ROWS.named('show'), rules.GET, One(BACKUP)),
    _op(
        'POST',
        '/share-backups',
        v2.create,
        rules.CREATE,
        One(BACKUP),
        ok=202,
        once=True,
        states=_BUSY,
        body=Body('share_backup', CREATE, missing=errors.Unprocessable),
    ),
    _op(
        'PUT',
        _ONE,
        v2.ROWS.named('update'),
        rules.UPDATE,
        One(BACKUP),
        body=Body('share_backup', _NAMES, missing=errors.Unprocessable),
    ),
    _op('DELETE', _ONE, v2.ROWS.named('delete'), rules.DELETE, ok=202, states=_BUSY),
    _op(
        'POST',
        _ACTION,
        v2.restore,
        rules.RESTORE,
        _RESTORED,
        ok=202,
        until='2.90',
        action='restore',
        states=_BUSY,
        body=_TO_ITS_SHARE,
    ),
    _op(
        'POST',
        _ACTION,
        v2.restore_to,
        rules.RESTORE,
        _RESTORED,
        ok=202,
        since='2.91',
        action='restore',
        states=_BUSY,
        body=_TO_ANY_SHARE,
    ),
    _op(
        'POST',
        _ACTION,
        v2.ROWS.named('reset_status'),
        rules.RESET_STATUS,
        ok=202,
        action='reset_status',
        body=Body('reset_status', (Field('status', STRING, required=True),)),
    ),
]
