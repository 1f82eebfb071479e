# SPDX-License-Identifier: Apache-2.0
"""The calls that list pools."""

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Call, Field, Many
from manila_lite.api.contract.fields import View
from manila_lite.api.v2 import pools as v2
from manila_lite.policies import pools as rules
from manila_lite.values import pools

_TEXT = {'type': 'string'}
_PATTERN = {'type': 'string', 'maxLength': 255}
_GB = {'type': ['number', 'string']}
_CAPABILITIES = {
    'type': 'object',
    'properties': {
        'pool_name': _TEXT,
        'timestamp': _TEXT,
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
    Field('name', _TEXT, read='host'),
    *(Field(name, _TEXT, read=v2.part(name)) for name in ('host', 'backend', 'pool')),
)

POOL = View('pool', 'pools', SUMMARY)
DETAIL = View('pool', 'pools', (*SUMMARY, Field('capabilities', _CAPABILITIES, read=v2.capabilities_of)))

FILTERS = (
    *(Field(name, _PATTERN) for name in ('host', 'backend', 'pool')),
    Field('capabilities', _TEXT, parse=shapes.pairs),
    Field('share_type', {'type': 'string', 'maxLength': 255}, since='2.23'),
)

OPS = [
    Call('GET', '/scheduler-stats/pools', v2.index, rules.INDEX, Many(POOL), query=FILTERS),
    Call('GET', '/scheduler-stats/pools/detail', v2.detail, rules.DETAIL, Many(DETAIL), query=FILTERS),
]
