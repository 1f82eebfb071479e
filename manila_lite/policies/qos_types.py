# SPDX-License-Identifier: Apache-2.0
"""QoS types and their specs."""

from manila_lite.policies.base import ADMIN, rule

_ONE = '/qos-types/{qos_type_id}'

RULES = [
    rule('qos_type:index', ADMIN, 'List QoS types.', 'GET /qos-types'),
    rule('qos_type:show', ADMIN, 'Show a QoS type.', f'GET {_ONE}'),
    rule('qos_type:create', ADMIN, 'Create a QoS type.', 'POST /qos-types'),
    rule('qos_type:update', ADMIN, 'Change the description of a QoS type.', f'PUT {_ONE}'),
    rule('qos_type:delete', ADMIN, 'Delete a QoS type.', f'DELETE {_ONE}'),
    rule('qos_types_spec:index', ADMIN, 'Show the specs of a QoS type.', f'GET {_ONE}/specs'),
    rule('qos_types_spec:show', ADMIN, 'Show one spec of a QoS type.', f'GET {_ONE}/specs/{{key}}'),
    rule('qos_types_spec:create', ADMIN, 'Create or change specs of a QoS type.', f'POST {_ONE}/specs'),
    rule('qos_types_spec:update', ADMIN, 'Change one spec of a QoS type.', f'PUT {_ONE}/specs/{{key}}'),
    rule('qos_types_spec:delete', ADMIN, 'Delete one spec of a QoS type.', f'DELETE {_ONE}/specs/{{key}}'),
]
