# SPDX-License-Identifier: Apache-2.0
"""Handlers for user messages."""

from typing import Any

from manila_lite.api.request import Request
from manila_lite.db.queries import message_hints, messages


def sentence(row: Any, req: Request) -> str:
    """Read the message for people: the action, the reason of its failure, and the next step."""
    return f'{messages.user_message(row)} {message_hints.BY_ID.get(row.detail_id, "")}'.rstrip()


def index(req: Request) -> list[Any]:
    """List user messages."""
    with req.ctx.db.reader() as conn:
        return messages.list_messages(conn, req.ctx, req.query, req.page)


def show(req: Request) -> Any:
    """Show one user message."""
    with req.ctx.db.reader() as conn:
        return messages.get(conn, req.ctx, req.params['message_id'])


def delete(req: Request) -> None:
    """Delete a user message."""
    with req.ctx.db.writer() as conn:
        messages.delete(conn, req.ctx, req.params['message_id'])
