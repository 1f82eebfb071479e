# SPDX-License-Identifier: Apache-2.0
"""User messages over HTTP."""

from typing import Any

from manila_lite.api.request import Request
from manila_lite.db import message_steps, messages


def sentence(row: Any, req: Request) -> str:
    """Read what a person shall know: what was tried, why it failed, and what to do."""
    return f'{messages.user_message(row)} {message_steps.BY_ID.get(row.detail_id, "")}'.rstrip()


def index(req: Request) -> list[Any]:
    """List messages."""
    with req.ctx.db.reader() as conn:
        return messages.list_messages(conn, req.ctx, req.query, req.page)


def show(req: Request) -> Any:
    """Show one message."""
    with req.ctx.db.reader() as conn:
        return messages.get(conn, req.ctx, req.params['message_id'])


def delete(req: Request) -> None:
    """Delete a message."""
    with req.ctx.db.writer() as conn:
        messages.delete(conn, req.ctx, req.params['message_id'])
