# SPDX-License-Identifier: Apache-2.0
"""Access rules of shares."""

from manila_lite.policies.base import (
    ADMIN_OR_SERVICE_OR_MEMBER,
    ADMIN_OR_SERVICE_OR_READER,
    MEMBER,
    READER,
    rule,
)

ALLOW = 'share:allow_access'
DENY = 'share:deny_access'
ACTION_LIST = 'share:access_get_all'
INDEX = 'share_access_rule:index'
GET = 'share_access_rule:get'
UPDATE = 'share_access_rule:update'
UPDATE_METADATA = 'share_access_metadata:update'
DELETE_METADATA = 'share_access_metadata:delete'

RULES = [
    rule(
        ALLOW,
        ADMIN_OR_SERVICE_OR_MEMBER,
        'Create an access rule of a share.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        DENY,
        ADMIN_OR_SERVICE_OR_MEMBER,
        'Delete an access rule of a share.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        ACTION_LIST,
        READER,
        'List the access rules of a share, in versions before 2.45.',
        'POST /shares/{share_id}/action',
    ),
    rule(
        INDEX,
        ADMIN_OR_SERVICE_OR_READER,
        'List the access rules of a share.',
        'GET /share-access-rules?share_id={share_id}',
    ),
    rule(
        GET,
        ADMIN_OR_SERVICE_OR_READER,
        'Show an access rule of a share.',
        'GET /share-access-rules/{access_id}',
    ),
    rule(
        UPDATE,
        ADMIN_OR_SERVICE_OR_MEMBER,
        'Change the level of an access rule of a share.',
        'PUT /share-access-rules/{access_id}',
    ),
    rule(
        UPDATE_METADATA,
        MEMBER,
        'Set metadata of an access rule.',
        'PUT /share-access-rules/{access_id}/metadata',
    ),
    rule(
        DELETE_METADATA,
        MEMBER,
        'Delete metadata of an access rule.',
        'DELETE /share-access-rules/{access_id}/metadata/{key}',
    ),
]
