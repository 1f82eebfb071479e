# SPDX-License-Identifier: Apache-2.0
"""Layers around the application that look at a request before it."""

from collections.abc import Callable
from typing import Any

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Any]
#: Looks at the environ of a request, and may change it. It refuses the request by an exception, which ``app.make`` answers.
Step = Callable[[dict[str, Any]], None]


def before(app: Wsgi, *steps: Step) -> Wsgi:
    """Wrap ``app`` with steps, which see each request first, in this order."""

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        for step in steps:
            step(environ)
        return app(environ, start_response)

    return wrapped
