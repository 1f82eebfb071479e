# SPDX-License-Identifier: Apache-2.0
"""User messages."""

from manila_lite.policies.base import MEMBER, READER, rule

RULES = [
    rule('message:get', READER, 'Show a user message.', 'GET /messages/{message_id}'),
    rule('message:get_all', READER, 'List user messages.', 'GET /messages'),
    rule('message:delete', MEMBER, 'Delete a user message.', 'DELETE /messages/{message_id}'),
]
