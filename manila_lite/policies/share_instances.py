# SPDX-License-Identifier: Apache-2.0
"""Share instances: a share at one pool."""

from manila_lite.policies.base import ADMIN, rule

INDEX = 'share_instance:index'
SHOW = 'share_instance:show'
RESET_STATUS = 'share_instance:reset_status'
FORCE_DELETE = 'share_instance:force_delete'

RULES = [
    rule(INDEX, ADMIN, 'List share instances.', 'GET /share_instances', 'GET /shares/{share_id}/instances'),
    rule(SHOW, ADMIN, 'Show a share instance.', 'GET /share_instances/{share_instance_id}'),
    rule(
        RESET_STATUS,
        ADMIN,
        'Reset the status of a share instance by hand.',
        'POST /share_instances/{share_instance_id}/action',
    ),
    rule(
        FORCE_DELETE,
        ADMIN,
        'Delete a share instance in any status.',
        'POST /share_instances/{share_instance_id}/action',
    ),
]
