# SPDX-License-Identifier: Apache-2.0
"""The services of manila_lite."""

from manila_lite.policies.base import ADMIN, rule

INDEX = 'service:index'
UPDATE = 'service:update'
ENSURE_SHARES = 'service:ensure_shares'
EVACUATE = 'service:evacuate'

RULES = [
    rule(INDEX, ADMIN, 'List services.', 'GET /services'),
    rule(UPDATE, ADMIN, 'Enable or disable a service.', 'PUT /services/enable', 'PUT /services/disable'),
    rule(
        ENSURE_SHARES,
        ADMIN,
        'Start a check of all shares of a backend.',
        'POST /services/ensure',
        'POST /services/ensure-shares',
    ),
    rule(
        EVACUATE,
        ADMIN,
        'Move everything off a backend or a host, and stop that.',
        'POST /services/evacuate',
        'POST /services/stop-evacuation',
    ),
]
