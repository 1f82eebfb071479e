# SPDX-License-Identifier: Apache-2.0
"""The calls that list pools, from the table that backends report to; no scheduler is asked."""

from collections.abc import Callable
from typing import Any

from manila_lite.actions import pools as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Call, Field, Many, View
from manila_lite.api.framework.handlers import QUERY, act
from manila_lite.api.request import Request
from manila_lite.values import pools


def part(name: str) -> Callable[[Any, Request], str]:
    """Return a reader of one part of ``host@backend#pool``."""
    return lambda row, req: actions.parts_of_host(row.host)[name]


_PATTERN = {'type': 'string', 'maxLength': 255}
_GB = {'type': ['number', 'string']}
_CAPABILITIES = {
    'type': 'object',
    'properties': {
        'pool_name': shapes.STRING,
        'timestamp': shapes.STRING,
        'total_capacity_gb': _GB,
        'free_capacity_gb': _GB,
        'allocated_capacity_gb': _GB,
        'provisioned_capacity_gb': _GB,
        'reserved_percentage': {'type': 'number'},
        'thin_provisioning': {'type': 'boolean'},
        'max_over_subscription_ratio': {'type': 'number'},
    },
}
_CAPABILITIES['required'] = [*_CAPABILITIES['properties'], *pools.NOT_REPORTED]

SUMMARY = (
    Field('name', shapes.STRING, read='host'),
    *(Field(name, shapes.STRING, read=part(name)) for name in ('host', 'backend', 'pool')),
)

POOL = View('pool', 'pools', SUMMARY)
DETAIL = View(
    'pool',
    'pools',
    (*SUMMARY, Field('capabilities', _CAPABILITIES, read=lambda row, req: pools.capabilities(row))),
)

FILTERS = (
    *(Field(name, _PATTERN) for name in ('host', 'backend', 'pool')),
    Field('capabilities', shapes.STRING, parse=shapes.pairs),
    Field('share_type', {'type': 'string', 'maxLength': 255}, since='2.23'),
)

CALLS = [
    Call(
        'GET',
        '/scheduler-stats/pools',
        act('List the names of pools.', actions.list_pools, QUERY, name='index'),
        'scheduler_stats:pools:index',
        Many(POOL),
        query=FILTERS,
    ),
    Call(
        'GET',
        '/scheduler-stats/pools/detail',
        act('List pools with details.', actions.list_pools, QUERY, name='detail'),
        'scheduler_stats:pools:detail',
        Many(DETAIL),
        query=FILTERS,
    ),
]
