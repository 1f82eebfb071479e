# SPDX-License-Identifier: Apache-2.0
"""The personas for rules, and a helper to write a rule. A call names its rule by the text that operators write, too."""

from typing import Any

from oslo_policy import policy

CONTEXT_IS_ADMIN = 'context_is_admin'
ADMIN = 'rule:admin_api'
MEMBER = 'rule:admin_or_project_member'
READER = 'rule:admin_or_project_reader'
SERVICE = 'rule:admin_or_service'
ADMIN_OR_SERVICE_OR_MEMBER = 'rule:admin_or_service or rule:project_member'
ADMIN_OR_SERVICE_OR_READER = 'rule:admin_or_service or rule:project_reader'
#: The user who created the resource, while a member of its project.
ADMIN_OR_SERVICE_OR_OWNER = 'rule:admin_or_service or (rule:project_member and rule:owner_user)'

PERSONAS = [
    policy.RuleDefault(
        CONTEXT_IS_ADMIN, 'role:admin', 'Callers with the rights of an administrator in all calls.'
    ),
    policy.RuleDefault('admin_api', 'rule:context_is_admin', 'Administrators.'),
    policy.RuleDefault(
        'project_member', 'role:member and project_id:%(project_id)s', 'Members of the project.'
    ),
    policy.RuleDefault(
        'project_reader',
        '(role:reader or role:member) and project_id:%(project_id)s',
        'Readers of the project: callers with role reader or member.',
    ),
    policy.RuleDefault('service_role', 'role:service', 'Other services of the cloud.'),
    policy.RuleDefault(
        'admin_or_project_member',
        'rule:admin_api or rule:project_member',
        'Administrators and members of the project.',
    ),
    policy.RuleDefault(
        'admin_or_project_reader',
        'rule:admin_api or rule:project_reader',
        'Administrators and readers of the project.',
    ),
    policy.RuleDefault(
        'admin_or_service', 'rule:admin_api or rule:service_role', 'Administrators and other services.'
    ),
    policy.RuleDefault(
        'owner_user',
        'user_id:%(user_id)s and project_id:%(project_id)s',
        'The user that created the resource, in its project.',
    ),
    policy.RuleDefault('default', '!', 'Deny a call that has no rule of its own.'),
]


def rule(name: str, check: str, description: str, *calls: str) -> policy.DocumentedRuleDefault:
    """Return a documented rule; each of ``calls`` is ``'METHOD /path'``."""
    operations: list[Any] = [
        {'method': call.partition(' ')[0], 'path': call.partition(' ')[2]} for call in calls
    ]
    return policy.DocumentedRuleDefault(
        name=name, check_str=check, description=description, operations=operations, scope_types=['project']
    )
