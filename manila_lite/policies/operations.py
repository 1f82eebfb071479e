# SPDX-License-Identifier: Apache-2.0
"""Operations, open and ended."""

from manila_lite.policies.base import ADMIN, READER, rule

INDEX = 'operation:index'
SHOW = 'operation:show'
LIST_ALL_PROJECTS = 'operation:list_all_projects'
SEE_INSIDE = 'operation:see_inside'

RULES = [
    rule(INDEX, READER, "List the project's operations.", 'GET /operations'),
    rule(SHOW, READER, 'Show an operation.', 'GET /operations/{operation_id}'),
    rule(LIST_ALL_PROJECTS, ADMIN, 'List the operations of all projects.', 'GET /operations'),
    rule(
        SEE_INSIDE,
        ADMIN,
        'Show the hosts of operations and the unchanged error texts of the backend.',
        'GET /operations',
        'GET /operations/{operation_id}',
    ),
]
