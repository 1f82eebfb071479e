# SPDX-License-Identifier: Apache-2.0
"""Access rules of shares."""

from manila_lite.policies.base import (
    ADMIN_OR_SERVICE_OR_MEMBER,
    ADMIN_OR_SERVICE_OR_READER,
    MEMBER,
    READER,
    rule,
)

RULES = [
    rule(
        'share:allow_access',
        ADMIN_OR_SERVICE_OR_MEMBER,
        'Create an access rule of a share.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        'share:deny_access',
        ADMIN_OR_SERVICE_OR_MEMBER,
        'Delete an access rule of a share.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        'share:access_get_all',
        READER,
        'List the access rules of a share, in versions before 2.45.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        'share_access_rule:index',
        ADMIN_OR_SERVICE_OR_READER,
        'List the access rules of a share.',
        'GET /share-access-rules?share_id={share_id}',
    ),
    rule(
        'share_access_rule:get',
        ADMIN_OR_SERVICE_OR_READER,
        'Show an access rule of a share.',
        'GET /share-access-rules/{access_id}',
    ),
    rule(
        'share_access_rule:update',
        ADMIN_OR_SERVICE_OR_MEMBER,
        'Change the level of an access rule of a share.',
        'PUT /share-access-rules/{access_id}',
    ),
    rule(
        'share_access_metadata:update',
        MEMBER,
        'Set metadata of an access rule.',
        'PUT /share-access-rules/{access_id}/metadata',
    ),
    rule(
        'share_access_metadata:delete',
        MEMBER,
        'Delete metadata of an access rule.',
        'DELETE /share-access-rules/{access_id}/metadata/{key}',
    ),
]
