# SPDX-License-Identifier: Apache-2.0
"""Quotas of projects, quota classes, and the limits that a caller sees."""

from manila_lite.policies.base import ADMIN, READER, rule

GET = 'quota_set:show'
UPDATE = 'quota_set:update'
DELETE = 'quota_set:delete'
GET_CLASS = 'quota_class_set:show'
UPDATE_CLASS = 'quota_class_set:update'
GET_LIMITS = 'limits:index'

RULES = [
    rule(
        GET,
        READER,
        'Show the quotas of a project, of a user or of a share type in it.',
        'GET /quota-sets/{project_id}',
        'GET /quota-sets/{project_id}/detail',
        'GET /quota-sets/{project_id}/defaults',
    ),
    rule(
        UPDATE,
        ADMIN,
        'Set the quotas of a project, of a user or of a share type in it.',
        'PUT /quota-sets/{project_id}',
    ),
    rule(
        DELETE,
        ADMIN,
        'Reset the quotas of a project, of a user or of a share type in it to the defaults.',
        'DELETE /quota-sets/{project_id}',
    ),
    rule(GET_CLASS, ADMIN, 'Show the quotas of a class.', 'GET /quota-class-sets/{class_name}'),
    rule(UPDATE_CLASS, ADMIN, 'Set the quotas of a class.', 'PUT /quota-class-sets/{class_name}'),
    rule(GET_LIMITS, READER, "Show the limits and the usage of the caller's project.", 'GET /limits'),
]
