# SPDX-License-Identifier: Apache-2.0
"""Extensions: there are none, and readers of a project may ask for them."""

from manila_lite.policies.base import READER, rule

RULES = [
    rule('extension:index', READER, 'List the extensions of the API.', 'GET /extensions'),
    rule('extension:show', READER, 'Show an extension of the API.', 'GET /extensions/{alias}'),
]
