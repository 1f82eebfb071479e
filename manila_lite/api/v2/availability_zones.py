# SPDX-License-Identifier: Apache-2.0
"""The call that lists availability zones."""

from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Call, Field, Many, View
from manila_lite.api.framework.handlers import read
from manila_lite.db.queries import services

ZONE = View(
    'availability_zone',
    'availability_zones',
    (
        Field('id', shapes.ID),
        Field('name', {'type': 'string'}),
        Field('created_at', shapes.TIME),
        Field('updated_at', shapes.NULL_TIME),
    ),
)

CALLS = [
    Call(
        'GET',
        '/availability-zones',
        read('List the zones that have a backend.', services.list_zones, name='index'),
        'availability_zone:index',
        Many(ZONE),
        old_path='/os-availability-zone',
    )
]
