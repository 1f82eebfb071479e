# SPDX-License-Identifier: Apache-2.0
"""Share instances: a share at one pool."""

from manila_lite.policies.base import ADMIN, rule

RULES = [
    rule(
        'share_instance:index',
        ADMIN,
        'List share instances.',
        'GET /share_instances',
        'GET /shares/{share_id}/instances',
    ),
    rule('share_instance:show', ADMIN, 'Show a share instance.', 'GET /share_instances/{share_instance_id}'),
    rule(
        'share_instance:reset_status',
        ADMIN,
        'Reset the status of a share instance by hand.',
        'POST /share_instances/{share_instance_id}/action',
    ),
    rule(
        'share_instance:force_delete',
        ADMIN,
        'Delete a share instance in any status.',
        'POST /share_instances/{share_instance_id}/action',
    ),
]
