# SPDX-License-Identifier: Apache-2.0
"""The services of manila_lite."""

from manila_lite.policies.base import ADMIN, rule

RULES = [
    rule('service:index', ADMIN, 'List services.', 'GET /services'),
    rule(
        'service:update',
        ADMIN,
        'Enable or disable a service.',
        'PUT /services/enable',
        'PUT /services/disable',
    ),
    rule(
        'service:ensure_shares',
        ADMIN,
        'Start a check of all shares of a backend.',
        'POST /services/ensure',
        'POST /services/ensure-shares',
    ),
    rule(
        'service:evacuate',
        ADMIN,
        'Move everything off a backend or a host, and stop that.',
        'POST /services/evacuate',
        'POST /services/stop-evacuation',
    ),
]
