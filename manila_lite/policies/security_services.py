# SPDX-License-Identifier: Apache-2.0
"""Security services."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'security_service:create'
SHOW = 'security_service:show'
INDEX = 'security_service:index'
DETAIL = 'security_service:detail'
LIST_ALL_PROJECTS = 'security_service:get_all_security_services'
UPDATE = 'security_service:update'
DELETE = 'security_service:delete'

RULES = [
    rule(CREATE, MEMBER, 'Create a security service.', 'POST /security-services'),
    rule(SHOW, READER, 'Show a security service.', 'GET /security-services/{security_service_id}'),
    rule(INDEX, READER, 'List ids and names of security services.', 'GET /security-services'),
    rule(DETAIL, READER, 'List security services.', 'GET /security-services/detail'),
    rule(
        LIST_ALL_PROJECTS,
        ADMIN,
        'List the security services of all projects.',
        'GET /security-services?all_tenants=1',
        'GET /security-services/detail?all_tenants=1',
    ),
    rule(UPDATE, MEMBER, 'Change a security service.', 'PUT /security-services/{security_service_id}'),
    rule(DELETE, MEMBER, 'Delete a security service.', 'DELETE /security-services/{security_service_id}'),
]
