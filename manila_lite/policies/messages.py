# SPDX-License-Identifier: Apache-2.0
"""User messages."""

from manila_lite.policies.base import MEMBER, READER, rule

GET = 'message:get'
GET_ALL = 'message:get_all'
DELETE = 'message:delete'

RULES = [
    rule(GET, READER, 'Show a user message.', 'GET /messages/{message_id}'),
    rule(GET_ALL, READER, 'List user messages.', 'GET /messages'),
    rule(DELETE, MEMBER, 'Delete a user message.', 'DELETE /messages/{message_id}'),
]
