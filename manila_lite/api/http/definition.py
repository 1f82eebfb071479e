# SPDX-License-Identifier: Apache-2.0
"""The description of an API for this package: its calls, paths, versions and error replies.

The share API is ``SHARE``; each sibling has an object of its own.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import webob

from manila_lite.api import versions
from manila_lite.api.framework.call import Call
from manila_lite.api.http import discovery, faults
from manila_lite.api.http.routes import Routes
from manila_lite.api.v2 import CALLS

#: Makes an answer of a status, a message, an error code and more headers.
Reply = Callable[..., webob.Response]


def _asked(raw: webob.Request) -> int:
    return versions.asked(raw.headers.get(versions.HEADER))


def _stamp(answer: webob.Response, version: int | None, raw: webob.Request) -> webob.Response:
    experimental = raw.headers.get(versions.EXPERIMENTAL_HEADER)
    if version is not None:
        answer.headers[versions.HEADER] = versions.show(version)
    if experimental is not None:
        answer.headers[versions.EXPERIMENTAL_HEADER] = str(experimental.strip().lower() == 'true')
    answer.headers['Vary'] = versions.HEADER
    return answer


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
    """An API below its ``prefixes`` (first parts of paths; the first prefix is used in links).

    ``version``: returns the minor version that a request asks for, by header or path. ``stamp``: adds the version to an
    answer; its version is None if the request asked for one that is not served. ``answer``: answers requests that need
    no login, or returns None for other paths; ``public`` are its paths. ``base``: the URL under which the client
    reaches the service, from the request and the configuration. ``reply``: makes a refusal in the API's shape.
    ``show``: formats a version for people. ``service_type``: the API's name in access rules of application credentials.
    """

    calls: Sequence[Call]
    prefixes: tuple[str, ...] = ('v2',)
    version: Callable[[webob.Request], int] = _asked
    stamp: Callable[[webob.Response, int | None, webob.Request], webob.Response] = _stamp
    answer: Callable[[webob.Request, Any], webob.Response | None] = discovery.answer
    public: frozenset[str] = discovery.PUBLIC
    base: Callable[[webob.Request, Any], str] = discovery.base
    reply: Reply = faults.reply
    show: Callable[[int], str] = versions.show
    service_type: str = 'shared-file-system'

    @functools.cached_property
    def routes(self) -> Routes:
        """The calls by path."""
        return Routes(self.calls)

    def fault(
        self, error: BaseException, special: tuple[tuple[type, int], ...] = (), *, administrator: bool = False
    ) -> webob.Response:
        """Return the reply for an exception. ``administrator``: the caller has the rights of one."""
        return faults.response(error, special, self.reply, administrator=administrator)


SHARE = Definition(CALLS)
