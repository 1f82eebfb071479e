# SPDX-License-Identifier: Apache-2.0
"""The calls for operations: an addition to Manila's API, at every version."""

from typing import Any

from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import CTX, path, read
from manila_lite.api.request import Request
from manila_lite.db.queries import ensure, evacuation, operation_views
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries.operations import STATES

#: Fields of the progress that are shown, for kinds of operations that have them.
PROGRESS = ('percent', 'bytes_done', 'bytes_total', 'done', 'total', 'seconds_left')
#: Parts of the report, by the kind of the operation.
REPORT = {
    ensure.KIND: ('configuration', 'repairs', 'reasons', 'servers'),
    evacuation.KIND: ('plan', 'moving', 'left'),
}
_UNSAID = {
    rows.OPEN: 'It has failed so far and is tried again.',
    rows.PARKED: 'It was stopped for an administrator to examine.',
}
_FAILED = 'It failed; an administrator can see the cause.'


def step(row: Any, req: Request) -> int:
    """Read the number of the current step, from 1 on."""
    return min(int(row.step) + 1, steps(row, req))


def steps(row: Any, req: Request) -> int:
    """Read the number of steps; 1 before a worker has begun."""
    return len(rows.step_names(row)) or 1


def running(row: Any, req: Request) -> bool:
    """Read whether a worker runs the operation now."""
    return row.state == rows.OPEN and row.owner is not None


def progress(row: Any, req: Request) -> dict[str, Any]:
    """Read the figures as whole numbers; unknown ones are null. A copy that is done is complete, whenever it was looked at."""
    known = operation_views.data(row).progress
    known = known if isinstance(known, dict) else {}
    if row.state == rows.DONE and known.get('bytes_total'):
        known = {**known, 'percent': 100, 'bytes_done': known['bytes_total']}
    if known.get('percent') is None and known.get('total'):
        known = {**known, 'percent': 100 * (known.get('done') or 0) // known['total']}
    return {name: _number(known.get(name)) for name in PROGRESS}


def report(row: Any, req: Request) -> dict[str, Any]:
    """Read the findings of a check of a backend's shares, or of an evacuation; nothing for other kinds."""
    parts = REPORT.get(row.kind, ())
    known = operation_views.data(row).others if parts else {}
    return {name: known[name] for name in parts if isinstance(known.get(name), dict)}


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None


def error(row: Any, req: Request) -> str | None:
    """Read the error of the operation, or of its last try. Only callers with the policy see the backend's own words."""
    if row.error is None or req.may('operation:see_inside'):
        text: str | None = row.error
        return text
    failure = operation_views.data(row).failure
    return (failure.told if failure else None) or _UNSAID.get(row.state, _FAILED)


def index(req: Request) -> list[Any]:
    """List operations, the newest first."""
    filters = dict(req.query)
    project_id = related.choose_project(req, filters, 'operation:list_all_projects')
    with req.ctx.db.reader() as conn:
        return operation_views.list_operations(conn, req.ctx, filters, req.page, project_id=project_id)


# Fields and calls -------------------------------------------------------------------------------

_PROGRESS = {
    'type': 'object',
    'required': list(PROGRESS),
    'additionalProperties': False,
    'properties': {name: {'type': ['integer', 'null']} for name in PROGRESS},
}
_REPORT = {
    'type': 'object',
    'additionalProperties': False,
    'properties': {name: {'type': 'object'} for parts in REPORT.values() for name in parts},
}

OPERATION = View(
    'operation',
    'operations',
    (
        Field('id', shapes.ID),
        Field('kind', shapes.STRING),
        Field('resource_type', shapes.STRING),
        Field('resource_id', shapes.ID),
        Field('project_id', shapes.NULL_STRING),
        Field('user_id', shapes.NULL_STRING),
        Field('request_id', shapes.NULL_STRING),
        Field('state', {'type': 'string', 'enum': list(STATES)}),
        Field('running', shapes.BOOLEAN, read=running),
        Field('undoing', shapes.BOOLEAN),
        Field('phase', shapes.STRING, read=lambda row, req: operation_views.phase(row)),
        Field('step', shapes.COUNT, read=step),
        Field('steps', shapes.COUNT, read=steps),
        Field('attempts', shapes.COUNT),
        Field('progress', _PROGRESS, read=progress),
        Field('error', shapes.NULL_STRING, read=error),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
        Field('next_run_at', shapes.TIME),
        Field('finished_at', shapes.NULL_TIME),
        Field('host', shapes.STRING, rule='operation:see_inside'),
        Field('report', _REPORT, read=report, rule='operation:see_inside'),
    ),
    'operations',
)

FILTERS = (
    *(
        Field(name, shapes.STRING)
        for name in (
            'id',
            'kind',
            'resource_type',
            'resource_id',
            'request_id',
            'project_id',
            'user_id',
            'host',
        )
    ),
    Field('state', shapes.STRING, parse=shapes.one_of(*STATES)),
    *(Field(name, shapes.STRING, parse=shapes.time) for name in ('created_since', 'created_before')),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
    *PAGE,
)

CALLS = [
    Call('GET', '/operations', index, 'operation:index', Many(OPERATION, paged=True), query=FILTERS),
    Call(
        'GET',
        '/operations/{operation_id}',
        read('Show one operation.', operation_views.get, CTX, path('operation_id'), name='show'),
        'operation:show',
        One(OPERATION),
    ),
]
