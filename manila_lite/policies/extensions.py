# SPDX-License-Identifier: Apache-2.0
"""Extensions: there are none, and everybody may know."""

from manila_lite.policies.base import rule

GET_ALL = 'extension:index'
GET = 'extension:show'

RULES = [
    rule(GET_ALL, '@', 'List the extensions of the API.', 'GET /extensions'),
    rule(GET, '@', 'See an extension of the API.', 'GET /extensions/{alias}'),
]
