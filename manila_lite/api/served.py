# SPDX-License-Identifier: Apache-2.0
"""What one API is to the machinery of this room: its calls, where they are found, its versions, how it refuses.

The share API is ``SHARE``; each sibling has an object of its own.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import webob

from manila_lite.api import discovery, faults, versions
from manila_lite.api.contract import OPS
from manila_lite.api.contract.op import Op
from manila_lite.api.routes import Routes

#: Status, message, our code, and more headers, as an answer.
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
class Api:
    """An API below its ``prefixes`` (first parts of paths; the first of them is in links).

    ``version``: the minor version that a request asks for, by header or path. ``stamp``: the answer says its version;
    without one where the request asked for none that is served. ``answer``: what is said before anyone logs in, or
    nothing for other paths; ``public`` are its paths. ``base``: the address under which the client reaches us, from the
    request and the configuration. ``reply``: a refusal in the API's shape. ``show``: a version for people.
    ``service_type``: under which the access rules of application credentials name it.
    """

    ops: Sequence[Op]
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
        return Routes(self.ops)

    def fault(self, error: BaseException, special: tuple[tuple[type, int], ...] = ()) -> webob.Response:
        """Return the reply for an exception."""
        return faults.response(error, special, self.reply)


SHARE = Api(OPS)
