# SPDX-License-Identifier: Apache-2.0
"""Resource locks. Beside the rule, the context of a lock counts: a caller cannot touch locks of a stronger context."""

from manila_lite.policies.base import (
    ADMIN_OR_SERVICE_OR_MEMBER,
    ADMIN_OR_SERVICE_OR_OWNER,
    ADMIN_OR_SERVICE_OR_READER,
    SERVICE,
    rule,
)

RULES = [
    rule(
        'resource_lock:get',
        ADMIN_OR_SERVICE_OR_READER,
        'Show a resource lock.',
        'GET /resource-locks/{lock_id}',
    ),
    rule('resource_lock:get_all', ADMIN_OR_SERVICE_OR_READER, 'List resource locks.', 'GET /resource-locks'),
    rule(
        'resource_lock:get_all_projects',
        SERVICE,
        'Show resource locks of all projects.',
        'GET /resource-locks?all_projects=1',
        'GET /resource-locks/{lock_id}',
    ),
    rule(
        'resource_lock:create',
        ADMIN_OR_SERVICE_OR_MEMBER,
        'Create a resource lock on a share or an access rule.',
        'POST /resource-locks',
        'POST /shares/{share_id}/action',
    ),
    rule(
        'resource_lock:update',
        ADMIN_OR_SERVICE_OR_OWNER,
        'Change a resource lock.',
        'PUT /resource-locks/{lock_id}',
    ),
    rule(
        'resource_lock:delete',
        ADMIN_OR_SERVICE_OR_OWNER,
        'Delete a resource lock.',
        'DELETE /resource-locks/{lock_id}',
        'POST /shares/{share_id}/action',
    ),
    rule(
        'resource_lock:bypass_locked_show_action',
        'rule:admin_or_service or rule:owner_user',
        'Show the client of an access rule in plain text although a lock hides it.',
        'GET /share-access-rules?share_id={share_id}',
        'GET /share-access-rules/{access_id}',
    ),
]
