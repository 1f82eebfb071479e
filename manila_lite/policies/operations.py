# SPDX-License-Identifier: Apache-2.0
"""Operations: what is being done, and what was."""

from manila_lite.policies.base import ADMIN, READER, rule

INDEX = 'operation:index'
SHOW = 'operation:show'
LIST_ALL_PROJECTS = 'operation:list_all_projects'
SEE_INSIDE = 'operation:see_inside'

RULES = [
    rule(INDEX, READER, "List the project's operations.", 'GET /operations'),
    rule(SHOW, READER, 'See an operation.', 'GET /operations/{operation_id}'),
    rule(LIST_ALL_PROJECTS, ADMIN, 'List the operations of all projects.', 'GET /operations'),
    rule(SEE_INSIDE, ADMIN, 'See hosts of operations and errors in the words of the backend.', 'GET /operations',
         'GET /operations/{operation_id}'),
]
