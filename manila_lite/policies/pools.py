# SPDX-License-Identifier: Apache-2.0
"""The pools of all backends, as the scheduler sees them."""

from manila_lite.policies.base import ADMIN, rule

RULES = [
    rule('scheduler_stats:pools:index', ADMIN, 'List pools.', 'GET /scheduler-stats/pools'),
    rule(
        'scheduler_stats:pools:detail',
        ADMIN,
        'List pools with their capacity and their capabilities.',
        'GET /scheduler-stats/pools/detail',
    ),
]
