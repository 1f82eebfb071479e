# SPDX-License-Identifier: Apache-2.0
"""Extensions: there are none, and whoever may look at a project may know."""

from manila_lite.policies.base import READER, rule

GET_ALL = 'extension:index'
GET = 'extension:show'

RULES = [
    rule(GET_ALL, READER, 'List the extensions of the API.', 'GET /extensions'),
    rule(GET, READER, 'See an extension of the API.', 'GET /extensions/{alias}'),
]
