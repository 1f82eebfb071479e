# SPDX-License-Identifier: Apache-2.0
"""The calls for how full the shares of a project, or of a pool, are together: an addition to Manila's API, at every version."""

import math
from typing import Any

from oslo_utils import units

from manila_lite import errors
from manila_lite.api.framework import related, shapes
from manila_lite.api.framework.call import PAGE, Call, Field, Many, One, View
from manila_lite.api.framework.handlers import PAGING, read
from manila_lite.api.request import Request
from manila_lite.api.v2.share_usage import DAYS, EVERYBODY, FORECAST, RESOLUTION, TAKEN, series_of
from manila_lite.db.queries import usage_sums
from manila_lite.values.share_usage import days_until_pool_is_full

_ALL = 'share_usage:list_all_projects'


def projects(req: Request) -> list[Any]:
    """List the space that all shares of each project take, the largest first."""
    project_id = related.choose_project(req, dict(req.query), _ALL)
    with req.ctx.db.reader() as conn:
        return usage_sums.list_projects(conn, req.page, project_id=project_id)


def project_history(req: Request) -> list[Any]:
    """List the space that all shares of a project took, the oldest point first."""
    project = req.params['usage_project_id']
    if project != req.ctx.project_id and not req.may(_ALL):
        raise errors.NotFound(f'Project {project} could not be found.')
    with req.ctx.db.reader() as conn:
        return usage_sums.points(conn, usage_sums.PROJECT, project, series_of(req))


def pool(req: Request) -> Any:
    """Show the space that all shares of a pool take, and the days until the pool is full."""
    host = req.params['pool_host']
    with req.ctx.db.reader() as conn:
        row = usage_sums.get_pool(conn, host)
        if row is None:
            raise errors.NotFound(f'The usage of pool {host} is not known.', code='share_usage_not_known')
        req.related['points'] = usage_sums.points(conn, usage_sums.POOL, host, FORECAST)
    return row


def pool_history(req: Request) -> list[Any]:
    """List the space that all shares of a pool took, the oldest point first. A pool of which nothing is known has none."""
    with req.ctx.db.reader() as conn:
        return usage_sums.points(conn, usage_sums.POOL, req.params['pool_host'], series_of(req))


def _bytes(gib: float | None) -> int | None:
    return None if gib is None or not math.isfinite(gib) else int(gib * units.Gi)


def capacity(row: Any, req: Request) -> int | None:
    """Read the size of the pool, as its backend last reported it; null if it is not known."""
    return _bytes(row.total_gb)


def free(row: Any, req: Request) -> int | None:
    """Read the free space of the pool in the last report of its backend; null if it is not known."""
    return _bytes(row.free_gb)


def full_in_days(row: Any, req: Request) -> float | None:
    """Read the days until the pool has nothing free if its shares go on like this; null if too little is known."""
    left = free(row, req)
    return None if left is None else days_until_pool_is_full(req.related['points'], left)


# Fields and calls -------------------------------------------------------------------------------

_NULL_COUNT = {'type': ['integer', 'null'], 'minimum': 0}

PROJECT = View(
    'project_usage',
    'project_usage',
    (Field('project_id', shapes.NULL_STRING), Field('shares', shapes.COUNT), *TAKEN),
)
#: ``limit_bytes`` may be more than ``capacity_bytes``, which is what the pool has.
POOL = View(
    'pool_usage',
    'pool_usage',
    (
        Field('host', shapes.NULL_STRING),
        Field('shares', shapes.COUNT),
        *TAKEN,
        Field('capacity_bytes', _NULL_COUNT, read=capacity),
        Field('free_bytes', _NULL_COUNT, read=free),
    ),
)
ONE_POOL = View('pool_usage', 'pool_usage', (*POOL.fields, Field('full_in_days', DAYS, read=full_in_days)))
POINT = View('point', 'history', (Field('measured_at', shapes.TIME), Field('shares', shapes.COUNT), *TAKEN))

_PAGE = tuple(field for field in PAGE if field.name in ('limit', 'offset'))

CALLS = [
    Call(
        'GET',
        '/project-usage',
        projects,
        'share_usage:projects',
        Many(PROJECT, paged=True),
        query=(*EVERYBODY, *_PAGE),
        strict=True,
    ),
    Call(
        'GET',
        '/project-usage/{usage_project_id}/history',
        project_history,
        'share_usage:projects',
        Many(POINT),
        query=(RESOLUTION,),
        strict=True,
    ),
    Call(
        'GET',
        '/pool-usage',
        read(
            'List what the shares of pools take together, by pool.',
            usage_sums.list_pools,
            PAGING,
            name='pools',
        ),
        'share_usage:pools',
        Many(POOL, paged=True),
        query=_PAGE,
        strict=True,
    ),
    Call('GET', '/pool-usage/{pool_host}', pool, 'share_usage:pools', One(ONE_POOL)),
    Call(
        'GET',
        '/pool-usage/{pool_host}/history',
        pool_history,
        'share_usage:pools',
        Many(POINT),
        query=(RESOLUTION,),
        strict=True,
    ),
]
