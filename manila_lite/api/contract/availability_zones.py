# SPDX-License-Identifier: Apache-2.0
"""The call that lists availability zones."""

from manila_lite.api.contract.call import Call, Field, Many
from manila_lite.api.contract.fields import View
from manila_lite.api.contract.shapes import ID, NULL_TIME, TIME
from manila_lite.api.v2 import availability_zones as v2
from manila_lite.policies import availability_zones as rules

ZONE = View(
    'availability_zone',
    'availability_zones',
    (
        Field('id', ID),
        Field('name', {'type': 'string'}),
        Field('created_at', TIME),
        Field('updated_at', NULL_TIME),
    ),
)

OPS = [
    Call('GET', '/availability-zones', v2.index, rules.INDEX, Many(ZONE), old_path='/os-availability-zone')
]
