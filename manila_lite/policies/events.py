# SPDX-License-Identifier: Apache-2.0
"""Events: what changes, for clients that listen."""

from manila_lite.policies.base import ADMIN, READER, rule

RULES = [
    rule(
        'events:index',
        READER,
        'Listen to events of the project. Each event also needs the rule that lists its resource.',
        'GET /events',
    ),
    rule('events:list_all_projects', ADMIN, 'Listen to events of all projects.', 'GET /events?all_tenants=1'),
]
