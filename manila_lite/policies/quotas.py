# SPDX-License-Identifier: Apache-2.0
"""Quotas of projects, quota classes, and the limits that a caller sees."""

from manila_lite.policies.base import ADMIN, READER, rule

RULES = [
    rule(
        'quota_set:show',
        READER,
        'Show the quotas of a project, of a user or of a share type in it.',
        'GET /quota-sets/{project_id}',
        'GET /quota-sets/{project_id}/detail',
        'GET /quota-sets/{project_id}/defaults',
    ),
    rule(
        'quota_set:update',
        ADMIN,
        'Set the quotas of a project, of a user or of a share type in it.',
        'PUT /quota-sets/{project_id}',
    ),
    rule(
        'quota_set:delete',
        ADMIN,
        'Reset the quotas of a project, of a user or of a share type in it to the defaults.',
        'DELETE /quota-sets/{project_id}',
    ),
    rule('quota_class_set:show', ADMIN, 'Show the quotas of a class.', 'GET /quota-class-sets/{class_name}'),
    rule('quota_class_set:update', ADMIN, 'Set the quotas of a class.', 'PUT /quota-class-sets/{class_name}'),
    rule('limits:index', READER, "Show the limits and the usage of the caller's project.", 'GET /limits'),
]
