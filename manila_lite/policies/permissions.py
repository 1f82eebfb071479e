# SPDX-License-Identifier: Apache-2.0
"""Permissions of the caller itself."""

from manila_lite.policies.base import READER, rule

RULES = [
    rule(
        'permission:index',
        READER,
        'List the policy rules with whether the caller passes each.',
        'GET /permissions',
    )
]
