# SPDX-License-Identifier: Apache-2.0
"""QoS types and their specs."""

from manila_lite.policies.base import ADMIN, rule

INDEX = 'qos_type:index'
SHOW = 'qos_type:show'
CREATE = 'qos_type:create'
UPDATE = 'qos_type:update'
DELETE = 'qos_type:delete'
GET_SPECS = 'qos_types_spec:index'
GET_SPEC = 'qos_types_spec:show'
CREATE_SPEC = 'qos_types_spec:create'
UPDATE_SPEC = 'qos_types_spec:update'
DELETE_SPEC = 'qos_types_spec:delete'

_ONE = '/qos-types/{qos_type_id}'

RULES = [
    rule(INDEX, ADMIN, 'List QoS types.', 'GET /qos-types'),
    rule(SHOW, ADMIN, 'Show a QoS type.', f'GET {_ONE}'),
    rule(CREATE, ADMIN, 'Create a QoS type.', 'POST /qos-types'),
    rule(UPDATE, ADMIN, 'Change the description of a QoS type.', f'PUT {_ONE}'),
    rule(DELETE, ADMIN, 'Delete a QoS type.', f'DELETE {_ONE}'),
    rule(GET_SPECS, ADMIN, 'Show the specs of a QoS type.', f'GET {_ONE}/specs'),
    rule(GET_SPEC, ADMIN, 'Show one spec of a QoS type.', f'GET {_ONE}/specs/{{key}}'),
    rule(CREATE_SPEC, ADMIN, 'Create or change specs of a QoS type.', f'POST {_ONE}/specs'),
    rule(UPDATE_SPEC, ADMIN, 'Change one spec of a QoS type.', f'PUT {_ONE}/specs/{{key}}'),
    rule(DELETE_SPEC, ADMIN, 'Delete one spec of a QoS type.', f'DELETE {_ONE}/specs/{{key}}'),
]
