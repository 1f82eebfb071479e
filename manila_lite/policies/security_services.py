# SPDX-License-Identifier: Apache-2.0
"""Security services."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

RULES = [
    rule('security_service:create', MEMBER, 'Create a security service.', 'POST /security-services'),
    rule(
        'security_service:show',
        READER,
        'Show a security service.',
        'GET /security-services/{security_service_id}',
    ),
    rule(
        'security_service:index', READER, 'List ids and names of security services.', 'GET /security-services'
    ),
    rule('security_service:detail', READER, 'List security services.', 'GET /security-services/detail'),
    rule(
        'security_service:get_all_security_services',
        ADMIN,
        'List the security services of all projects.',
        'GET /security-services?all_tenants=1',
        'GET /security-services/detail?all_tenants=1',
    ),
    rule(
        'security_service:update',
        MEMBER,
        'Change a security service.',
        'PUT /security-services/{security_service_id}',
    ),
    rule(
        'security_service:delete',
        MEMBER,
        'Delete a security service.',
        'DELETE /security-services/{security_service_id}',
    ),
]
