# SPDX-License-Identifier: Apache-2.0
"""Extensions: there are none, and readers of a project may ask for them."""

from manila_lite.policies.base import READER, rule

GET_ALL = 'extension:index'
GET = 'extension:show'

RULES = [
    rule(GET_ALL, READER, 'List the extensions of the API.', 'GET /extensions'),
    rule(GET, READER, 'Show an extension of the API.', 'GET /extensions/{alias}'),
]
