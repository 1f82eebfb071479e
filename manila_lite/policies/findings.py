# SPDX-License-Identifier: Apache-2.0
"""Findings of the doctor."""

from manila_lite.policies.base import ADMIN, rule

INDEX = 'finding:index'
MEND = 'finding:mend'

RULES = [
    rule(INDEX, ADMIN, 'List what the doctor finds in the resources of all projects.', 'GET /findings'),
    rule(MEND, ADMIN, 'Have a finding mended, in the resources of all projects.', 'POST /findings/mend'),
]
