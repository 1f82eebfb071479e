# SPDX-License-Identifier: Apache-2.0
"""The handler for events."""

from typing import Any

from manila_lite import errors
from manila_lite.api.request import HUB, Request


def index(req: Request) -> Any:
    """Listen to events: as a stream, or wait for the next ones."""
    answers = req.raw.environ.get(HUB)
    if answers is None:
        raise errors.Unavailable('This process has no events.')
    return answers.answer(req)
