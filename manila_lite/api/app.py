# SPDX-License-Identifier: Apache-2.0
"""The WSGI application: middleware around the one controller, composed in one function."""

import functools
import gc
import io
from collections.abc import Callable
from typing import Any

import pecan
import webob
from oslo_context import context as oslo_context
from oslo_middleware import healthcheck, http_proxy_to_wsgi, request_id

from manila_lite import context, trace
from manila_lite.api import addressing, auth, memoise, observe, rates
from manila_lite.api.dispatch import Root
from manila_lite.api.served import SHARE, Api, Reply

_INBOUND = f'HTTP_{request_id.INBOUND_HEADER.upper().replace("-", "_")}'
#: So many objects more than before, and garbage is searched for.
_OBJECTS = 20_000
#: What a proxy in front says of the request it got.
_FORWARDED = frozenset(('HTTP_FORWARDED', *(f'HTTP_X_FORWARDED_{name}' for name in ('PROTO', 'HOST', 'FOR', 'PREFIX'))))


class _RequestId(request_id.RequestId):
    """Answers carry the id under the name that older clients read, too."""

    compat_headers = ['x-compute-request-id']

    def __call__(self, environ: dict, start_response: Callable) -> Any:
        """As the base class, but the request and the answer pass as they are: to wrap them costs more than all else here."""
        if _INBOUND in environ:
            self.set_global_req_id(webob.Request(environ))
        ident = environ[request_id.ENV_REQUEST_ID] = oslo_context.generate_request_id()

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            there = {name.lower() for name, _ in headers}
            names = [name for name in (request_id.HTTP_RESP_HEADER_REQUEST_ID, *self.compat_headers) if name not in there]
            return start_response(status, [*headers, *((name, ident) for name in names)], *more)
        return self.application(environ, start)


class _Unread(webob.Request):
    """The request as pecan itself sees it: with nothing to read.

    Else it would parse path, query and body before the controller does, and answer to bad ones in a shape of its own.
    """

    path_info = '/'
    method = 'GET'
    accept = None       # answers are JSON whatever the caller would rather have
    GET = params = webob.multidict.NoVars()


class _Pecan(pecan.Pecan):
    """Leaves an empty 200 as it is: clients of this API insist on the status that the contract names."""

    def _handle_empty_response_body(self, state: Any) -> None:
        """Do not make it a 204."""


def make(services: context.Services, api: Api = SHARE, *, most: int | None = None) -> Callable:
    """Return the application that serves an API. ``most``: the largest body, in bytes, where the API has a limit of its own.

    :raises errors.BadConfig: the authentication strategy, or the rate limits, cannot work as configured.
    """
    memoise.install()
    _settle()
    inner = _Pecan(Root(services, api), guess_content_type_from_ext=False, request_cls=_Unread)
    app = _sized(inner, services.conf.api.max_request_body_size if most is None else most, api.reply)
    limits = rates.Limits(services.conf, api)
    app = auth.protect(limits.of_projects(app), services.conf, api, services.turns)
    app = _healthcheck(app)
    app = addressing.sent(_proxied(addressing.forwarded(app, api)), services.conf, api)
    return _RequestId(observe.observed(trace.middleware(limits.of_addresses(app), services.conf)))


@functools.cache
def _settle() -> None:
    """The search for garbage in cycles passes over what was loaded until now, and is not set off several times by each list
    of a thousand rows, which has none. Only once: a process with many applications is a test, where they come and go.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)


def _proxied(app: Callable) -> Callable:
    """URLs in answers are those that a proxy in front says it was asked for."""
    proxied = http_proxy_to_wsgi.HTTPProxyToWSGI(app)
    # Said to the middleware itself, it would be set again by each request, and oslo.config would forget each time what
    # it had looked up.
    proxied.oslo_conf.set_override('enable_proxy_headers_parsing', True, group='oslo_middleware')

    def wrapped(environ: dict, start_response: Callable) -> Any:
        # Most requests carry none of these, and then the middleware has nothing to do.
        if _FORWARDED.isdisjoint(environ):
            return app(environ, start_response)
        environ.setdefault('SCRIPT_NAME', '')       # a server may leave it out where it is empty
        return proxied(environ, start_response)
    return wrapped


def _sized(app: Callable, most: int, reply: Reply) -> Callable:
    """Bodies over the limit get a 413 in the API's shape; those that come in chunks have a length from here on."""
    def wrapped(environ: dict, start_response: Callable) -> Any:
        if environ.get('wsgi.input_terminated') and not environ.get('CONTENT_LENGTH'):
            try:
                _unchunk(environ, most)
            except (OSError, ValueError) as bad:
                return reply(400, f'body: cannot be read: {bad}.', 'malformed_body')(environ, start_response)
        length = environ.get('CONTENT_LENGTH') or '0'
        if not (length.isascii() and length.isdigit()):
            return reply(400, 'Content-Length: is not a number.', 'invalid_input')(environ, start_response)
        if int(length) > most:
            return reply(413, f'The body is larger than {most} bytes.', 'body_too_large')(environ, start_response)
        return app(environ, start_response)
    return wrapped


def _unchunk(environ: dict, most: int) -> None:
    """The body is in memory, or that much of it that it is seen to be too large."""
    body = environ['wsgi.input'].read(most + 1)
    environ.update({'wsgi.input': io.BytesIO(body), 'CONTENT_LENGTH': str(len(body))})


def _healthcheck(app: Callable) -> Callable:
    """``/healthcheck`` and nothing else is answered by oslo.middleware's health check."""
    check = healthcheck.Healthcheck(app, {'path': '/healthcheck', 'detailed': False})

    def wrapped(environ: dict, start_response: Callable) -> Any:
        if environ.get('PATH_INFO', '').rstrip('/') != '/healthcheck':
            return app(environ, start_response)
        environ[observe.ROUTE] = observe.HEALTHCHECK
        return check(environ, start_response)
    return wrapped
