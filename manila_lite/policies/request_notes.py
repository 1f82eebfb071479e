# SPDX-License-Identifier: Apache-2.0
"""Notes of slow and failed requests."""

from manila_lite.policies.base import ADMIN, rule

RULES = [
    rule(
        'request_note:index',
        ADMIN,
        'List slow requests and errors of the service of the last hour, of all projects.',
        'GET /request-notes',
    )
]
