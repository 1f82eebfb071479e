# SPDX-License-Identifier: Apache-2.0
"""``Retry-After`` for clients that read it, and not for those that it breaks.

The number of seconds is also in the body of a refusal, as ``retryAfter``, and the sentence says to try again.
"""

from collections.abc import Callable
from typing import Any

HEADER = 'Retry-After'

#: Beginnings of the ``User-Agent`` of clients that end with a Python error ("unexpected keyword argument 'retry_after'") when
#: the header is there, whatever its value: they pass it to an exception that only takes it for 413. Without it they show the
#: sentence. All versions of python-manilaclient do this, 6.3 included; the ``openstack share`` commands are a part of it.
_BREAK = ('python-manilaclient',)


def suits(user_agent: str) -> bool:
    """Say whether this client survives the header."""
    return not user_agent.startswith(_BREAK)


def spare_clients(app: Callable[..., Any]) -> Callable[..., Any]:
    """Take the header out of answers to clients that break on it, but for 413."""

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if suits(environ.get('HTTP_USER_AGENT', '')):
            return app(environ, start_response)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if not status.startswith('413'):
                headers = [(name, value) for name, value in headers if name.lower() != HEADER.lower()]
            return start_response(status, headers, *more)

        return app(environ, start)

    return wrapped
