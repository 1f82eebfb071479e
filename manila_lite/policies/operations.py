# SPDX-License-Identifier: Apache-2.0
"""Operations, open and ended."""

from manila_lite.policies.base import ADMIN, READER, rule

RULES = [
    rule('operation:index', READER, "List the project's operations.", 'GET /operations'),
    rule('operation:show', READER, 'Show an operation.', 'GET /operations/{operation_id}'),
    rule('operation:list_all_projects', ADMIN, 'List the operations of all projects.', 'GET /operations'),
    rule(
        'operation:see_inside',
        ADMIN,
        'Show the hosts of operations and the unchanged error texts of the backend.',
        'GET /operations',
        'GET /operations/{operation_id}',
    ),
]
