# SPDX-License-Identifier: Apache-2.0
"""The calls for schedules of snapshots and backups: an addition to Manila's API, at every version."""

from typing import Any

from manila_lite.actions import schedules as actions
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Body, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import BODY, CTX, act, path, read
from manila_lite.api.request import Request
from manila_lite.db.queries import schedules
from manila_lite.values import retention, schedule_times

_ACTIONS = {'type': 'string', 'enum': ['snapshot', 'share_backup', schedules.RESYNC]}
_MISSED = {'type': 'string', 'enum': ['once', 'skip']}
_TIMES = {'type': 'array', 'items': shapes.TIME}
_KEEP = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {
        name: {'type': 'integer', 'minimum': 1, 'maximum': retention.MOST} for name in retention.RULES
    },
}


def index(req: Request) -> list[Any]:
    """List schedules, the newest first."""
    filters = dict(req.query)
    project_id = related.choose_project(req, filters, 'schedule:list_all_projects')
    with req.ctx.db.reader() as conn:
        return schedules.list_schedules(conn, req.ctx, filters, req.page, project_id=project_id)


# Fields and calls -------------------------------------------------------------------------------

SCHEDULE = View(
    'schedule',
    'schedules',
    (
        Field('id', shapes.ID),
        Field('project_id', shapes.STRING),
        Field('user_id', shapes.NULL_STRING),
        Field('name', shapes.NULL_STRING),
        Field('all_projects', shapes.BOOLEAN),
        Field('action', _ACTIONS),
        Field('backup_type', shapes.NULL_STRING),
        Field('cron', shapes.STRING),
        Field('time_zone', shapes.STRING),
        Field('jitter', shapes.COUNT),
        Field('missed', _MISSED),
        Field('share_ids', {'type': ['array', 'null'], 'items': shapes.ID}),
        Field('share_metadata', {'type': ['object', 'null']}),
        Field('share_type_id', shapes.NULL_ID),
        Field('keep', {'type': 'object'}),
        Field('name_prefix', shapes.NULL_STRING),
        Field('paused', shapes.BOOLEAN),
        Field('next_run_at', shapes.NULL_TIME),
        Field('last_run_at', shapes.NULL_TIME),
        Field('last_good_at', shapes.NULL_TIME),
        Field('failing_since', shapes.NULL_TIME),
        Field('problem', shapes.NULL_STRING),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
    ),
    'schedules',
)
#: What a schedule made, and deletes when it is not to be kept: whatever its name and its description say.
COPY = View(
    'schedule_copy',
    'schedule_copies',
    (
        Field('id', shapes.ID),
        Field('resource_type', {'type': 'string', 'enum': list(schedules.COPIES)}),
        Field('schedule_id', shapes.ID),
        Field('run_at', shapes.TIME),
    ),
)
PREVIEW = View('preview', 'previews', (Field('times', _TIMES), Field('kept', _TIMES)))

_ZONE = Field(
    'time_zone',
    {'type': ['string', 'null'], 'maxLength': 255},
    parse=schedule_times.check_zone,
    empty_is_null=True,
)
_KEPT = Field('keep', {**_KEEP, 'type': ['object', 'null']})
_CRON = {'type': 'string', 'maxLength': 255}
CHANGE = (
    Field('name', shapes.NAME),
    _ZONE,
    _KEPT,
    Field('backup_type', shapes.NAME, empty_is_null=True),
    Field('jitter', {'type': ['integer', 'null'], 'minimum': 0, 'maximum': 3600}),
    Field('missed', {'type': ['string', 'null'], 'enum': ['once', 'skip', None]}),
    Field(
        'share_ids', {'type': ['array', 'null'], 'items': shapes.UUID, 'maxItems': 100, 'uniqueItems': True}
    ),
    Field('share_metadata', {**shapes.METADATA, 'type': ['object', 'null'], 'maxProperties': 10}),
    Field('share_type_id', shapes.NULL_UUID),
    Field('name_prefix', {'type': ['string', 'null'], 'maxLength': 200}, empty_is_null=True),
    Field('paused', shapes.BOOLEAN),
)
CREATE = (
    Field('cron', _CRON, parse=schedule_times.check_cron, required=True),
    Field('action', _ACTIONS),
    Field('all_projects', shapes.BOOLEAN),
    *CHANGE,
)
FILTERS = (
    *(Field(name, shapes.STRING) for name in ('id', 'name', 'action', 'share_type_id', 'project_id')),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)

_SCHEDULE = '/schedules/{schedule_id}'

CALLS = [
    Call('GET', '/schedules', index, 'schedule:get_all', Many(SCHEDULE, paged=True), query=FILTERS),
    Call(
        'POST',
        '/schedules',
        act('Create a schedule.', actions.create, BODY),
        'schedule:create',
        One(SCHEDULE),
        body=Body('schedule', CREATE, strict=True),
    ),
    Call(
        'POST',
        '/schedules/preview',
        act(
            'Show the next times of a schedule, and what it would keep, before it exists.',
            actions.preview,
            BODY,
        ),
        'schedule:create',
        One(PREVIEW),
        body=Body('schedule', (CREATE[0], _ZONE, _KEPT), strict=True),
    ),
    Call(
        'GET',
        _SCHEDULE,
        read('Show a schedule.', schedules.get, CTX, path('schedule_id'), name='show'),
        'schedule:get',
        One(SCHEDULE),
    ),
    Call(
        'GET',
        f'{_SCHEDULE}/preview',
        act(
            'Show the next times of a schedule, and what it would keep.',
            actions.preview_of,
            path('schedule_id'),
        ),
        'schedule:preview',
        One(PREVIEW),
    ),
    Call(
        'PUT',
        _SCHEDULE,
        act('Change or pause a schedule.', actions.update, path('schedule_id'), BODY),
        'schedule:update',
        One(SCHEDULE),
        body=Body('schedule', (Field('cron', _CRON, parse=schedule_times.check_cron), *CHANGE), strict=True),
    ),
    Call(
        'GET',
        '/shares/{share_id}/schedule-copies',
        read(
            'List the snapshots and backups of a share that schedules made, the oldest first.',
            schedules.list_copies_of,
            CTX,
            path('share_id'),
            name='copies',
        ),
        'schedule:get_all',
        Many(COPY),
    ),
    Call(
        'DELETE',
        _SCHEDULE,
        act('Delete a schedule. What it made stays.', actions.delete, path('schedule_id')),
        'schedule:delete',
        ok=204,
    ),
]
