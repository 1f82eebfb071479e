# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor."""

from manila_lite.policies.base import ADMIN, rule

RULES = [
    rule(
        'finding:index',
        ADMIN,
        'List what the doctor finds in the resources of all projects.',
        'GET /findings',
    ),
    rule(
        'finding:mend',
        ADMIN,
        'Have a finding mended, in the resources of all projects.',
        'POST /findings/mend',
    ),
]
