# SPDX-License-Identifier: Apache-2.0
"""The calls for how full shares are: an addition to Manila's API, at every version."""

import dataclasses
from typing import Any

from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Call, Field, Many, One, View
from manila_lite.api.request import Request
from manila_lite.db.queries import share_usage
from manila_lite.values import SERIES, Series
from manila_lite.values.share_usage import days_until_full

_SERIES = {one.name: one for one in SERIES}
#: The series that forecasts are made of.
FORECAST = _SERIES['hours']


def series_of(req: Request) -> Series:
    """Return the series that a request for a history names."""
    return _SERIES[req.query.get('resolution') or 'hours']


def index(req: Request) -> list[Any]:
    """List how full shares are, the fullest first."""
    filters = dict(req.query)
    project_id = related.choose_project(req, filters, 'share_usage:list_all_projects')
    page = dataclasses.replace(req.page, sort_key=share_usage.ORDER)
    with req.ctx.db.reader() as conn:
        return share_usage.list_usage(conn, filters, page, project_id=project_id)


def show(req: Request) -> Any:
    """Show how full a share is, and in how many days it would be full."""
    with req.ctx.db.reader() as conn:
        row = share_usage.get(conn, req.ctx, req.params['share_id'])
        req.related['points'] = share_usage.points(conn, row.share_id, FORECAST)
    return row


def history(req: Request) -> list[Any]:
    """List how full a share was, the oldest point first: each five minutes of a day, each hour of a month, or each day."""
    with req.ctx.db.reader() as conn:
        return share_usage.history(conn, req.ctx, req.params['share_id'], series_of(req))


def full_in_days(row: Any, req: Request) -> float | None:
    """Read the days until the share is full if it goes on like this; null if it does not grow, or too little is known."""
    return days_until_full(req.related['points'], row.limit_bytes)


# Fields and calls -------------------------------------------------------------------------------

_NULL_COUNT = {'type': ['integer', 'null'], 'minimum': 0}
_PERCENT = {'type': 'number', 'minimum': 0}
DAYS = {'type': ['number', 'null'], 'minimum': 0}

TAKEN = (
    Field('used_bytes', shapes.COUNT),
    Field('limit_bytes', shapes.COUNT),
    Field('snapshot_bytes', _NULL_COUNT),
)

#: ``used_bytes`` are what df shows a client. ``snapshot_bytes`` are not among them: they are only in snapshots.
USAGE = View(
    'share_usage',
    'share_usage',
    (
        Field('share_id', shapes.ID),
        Field('name', shapes.NULL_STRING),
        Field('project_id', shapes.NULL_STRING),
        Field('size', shapes.COUNT),
        *TAKEN,
        Field('files', _NULL_COUNT),
        Field('percent_full', _PERCENT),
        Field('measured_at', shapes.TIME),
        Field('host', shapes.NULL_STRING, rule='share_usage:list_by_host'),
    ),
)
ONE = View('share_usage', 'share_usage', (*USAGE.fields, Field('full_in_days', DAYS, read=full_in_days)))
POINT = View('point', 'history', (Field('measured_at', shapes.TIME), *TAKEN))

EVERYBODY = (
    Field('project_id', shapes.TEXT),
    Field('all_tenants', shapes.FLAG, parse=shapes.flag, aliases=('all_projects',)),
)
_MARKED = tuple(field for field in PAGE if field.name in ('limit', 'offset', 'marker'))
RESOLUTION = Field('resolution', {'type': 'string', 'enum': list(_SERIES)}, parse=shapes.one_of(*_SERIES))

CALLS = [
    Call(
        'GET',
        '/share-usage',
        index,
        'share_usage:index',
        Many(USAGE, paged=True),
        query=(
            *EVERYBODY,
            Field('host', shapes.TEXT),
            Field(
                'min_percent',
                {'type': 'integer', 'minimum': 0, 'maximum': shapes.MAX_INT},
                parse=shapes.integer,
            ),
            *_MARKED,
        ),
        strict=True,
    ),
    Call('GET', '/share-usage/{share_id}', show, 'share_usage:show', One(ONE)),
    Call(
        'GET',
        '/share-usage/{share_id}/history',
        history,
        'share_usage:show',
        Many(POINT),
        query=(RESOLUTION,),
        strict=True,
    ),
]
