# SPDX-License-Identifier: Apache-2.0
"""Permissions: what the caller itself may do."""

from manila_lite.policies.base import READER, rule

INDEX = 'permission:index'

RULES = [
    rule(INDEX, READER, 'List the policy rules with whether the caller passes each.', 'GET /permissions')
]
