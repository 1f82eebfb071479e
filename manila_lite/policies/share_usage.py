# SPDX-License-Identifier: Apache-2.0
"""How full shares are, and the sums of projects and of pools."""

from manila_lite.policies.base import ADMIN, READER, rule

RULES = [
    rule('share_usage:index', READER, "List how full the project's shares are.", 'GET /share-usage'),
    rule(
        'share_usage:show',
        READER,
        'Show how full a share is and was.',
        'GET /share-usage/{share_id}',
        'GET /share-usage/{share_id}/history',
    ),
    rule(
        'share_usage:projects',
        READER,
        "Show what the project's shares take and took together.",
        'GET /project-usage',
        'GET /project-usage/{usage_project_id}/history',
    ),
    rule(
        'share_usage:pools',
        ADMIN,
        'List what the shares of each pool take and took together.',
        'GET /pool-usage',
        'GET /pool-usage/{pool_host}',
        'GET /pool-usage/{pool_host}/history',
    ),
    rule(
        'share_usage:list_all_projects',
        ADMIN,
        'List how full the shares of all projects are.',
        'GET /share-usage',
        'GET /project-usage',
        'GET /project-usage/{usage_project_id}/history',
    ),
    rule(
        'share_usage:list_by_host',
        ADMIN,
        'Show the pools of shares, and list the shares of a backend or a pool.',
        'GET /share-usage',
        'GET /share-usage/{share_id}',
    ),
]
