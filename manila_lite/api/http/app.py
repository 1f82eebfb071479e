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
from oslo_middleware import exceptions as oslo_exceptions
from oslo_middleware import healthcheck, request_id

from manila_lite import context, errors, trace
from manila_lite.api.events import answers as events
from manila_lite.api.http import (
    auth,
    client_address,
    console,
    forwarded,
    host_header,
    layers,
    login_checks,
    memoise,
    rate_limits,
    readiness,
    request_log,
    retry_after,
)
from manila_lite.api.http.definition import SHARE, Definition
from manila_lite.api.http.dispatch import Root
from manila_lite.api.request import HUB

_INBOUND = f'HTTP_{request_id.INBOUND_HEADER.upper().replace("-", "_")}'
#: Number of new objects after which the garbage collector runs.
_OBJECTS = 20_000


class _RequestId(request_id.RequestId):
    """Puts the request id into answers, also under the header name that older clients read."""

    application: Any
    compat_headers = ['x-compute-request-id']

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """Do the same as the base class, without wrapping request and answer: that costs more than all else here."""
        if _INBOUND in environ:
            self.set_global_req_id(webob.Request(environ))
        new_id = environ[request_id.ENV_REQUEST_ID] = oslo_context.generate_request_id()

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            there = {name.lower() for name, _ in headers}
            names = [
                name
                for name in (request_id.HTTP_RESP_HEADER_REQUEST_ID, *self.compat_headers)
                if name not in there
            ]
            return start_response(status, [*headers, *((name, new_id) for name in names)], *more)

        return self.application(environ, start)


class _Unread(webob.Request):  # type: ignore[misc]  # webob has no types
    """The request as pecan itself sees it: with nothing to read.

    Otherwise pecan would parse path, query and body before the controller does, and answer bad ones in a shape of its
    own.
    """

    path_info = '/'
    method = 'GET'
    accept = None  # answers are JSON whatever the caller prefers
    GET = params = webob.multidict.NoVars()


class _Pecan(pecan.Pecan):  # type: ignore[misc]  # pecan has no types
    """Leaves an empty 200 as it is: clients of this API expect the status of the contract."""

    def _handle_empty_response_body(self, state: Any) -> None:
        """Keep the status; pecan would change it to 204."""


def make(
    services: context.Services,
    api: Definition = SHARE,
    *,
    most: int | None = None,
    note: request_log.Note | None = None,
) -> Callable[..., Any]:
    """Return the WSGI application of an API. ``most``: the largest body, in bytes, if the API has a limit of its own.

    ``note``: is called after each request.

    :raises errors.BadConfig: the authentication strategy, the policy file or the rate limits cannot work as configured.
    """
    memoise.install()
    _ = services.enforcer  # a policy file that cannot be read is known at the start
    _tune_garbage_collector()
    answers = events.Answers(services) if api is SHARE else None
    app: layers.Wsgi = layers.before(
        _Pecan(Root(services, api), guess_content_type_from_ext=False, request_cls=_Unread),
        _body_of(services.conf.api.max_request_body_size if most is None else most),
        lambda environ: environ.update({HUB: answers}),
    )
    peers = client_address.ClientAddresses(
        services.conf.api.trusted_proxies, services.conf.rate_limits.ipv6_prefix
    )
    limits = rate_limits.Limits(services.conf, api, peers)
    logins = login_checks.LoginChecks(services.turns, limits)
    page = console.Console(services, api, logins) if api is SHARE and services.conf.console.enabled else None
    app = layers.before(app if page is None else page.inside(app), limits.check_project)
    app = auth.protect(app, services.conf, api, logins)
    app = app if page is None else page.outside(app)
    app = readiness.answer_readiness(_answer_healthcheck(app), services)
    app = layers.before(
        app,
        limits.check_address,
        *host_header.sent(services.conf, api),
        forwarded.applied(peers),
        *host_header.forwarded(),
    )
    app = trace.middleware(retry_after.spare_clients(_answer_failures(app, api)), services.conf)
    return _RequestId(request_log.log_requests(app, note))


def _answer_failures(app: Callable[..., Any], api: Definition) -> Callable[..., Any]:
    """Answer in the API's shape where a layer around the calls refuses a request, or fails, such as the check of a login."""

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        try:
            return app(environ, start_response)
        except Exception as error:
            return api.fault(error)(environ, start_response)

    return wrapped


@functools.cache
def _tune_garbage_collector() -> None:
    """Tune the garbage collector: skip objects that exist now, and run it less often.

    A list of a thousand rows has no cycles, and would start it several times. Done only once: a process with many
    applications is a test, where they come and go.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)


def _body_of(most: int) -> layers.Step:
    """Return a step that refuses bodies over the limit. Chunked bodies are read here and get a length."""

    def check(environ: dict[str, Any]) -> None:
        if environ.get('wsgi.input_terminated') and not environ.get('CONTENT_LENGTH'):
            try:
                _unchunk(environ, most)
            except (OSError, ValueError) as bad:
                raise errors.Invalid(f'body: cannot be read: {bad}.', code='malformed_body') from None
        length = environ.get('CONTENT_LENGTH') or '0'
        if not (length.isascii() and length.isdigit()):
            raise errors.Invalid('Content-Length: is not a number.')
        if int(length) > most:
            raise errors.OverLimit(f'The body is larger than {most} bytes.', code='body_too_large')

    return check


def _unchunk(environ: dict[str, Any], most: int) -> None:
    """Read a chunked body into memory, up to one byte over the limit."""
    body = environ['wsgi.input'].read(most + 1)
    environ.update({'wsgi.input': io.BytesIO(body), 'CONTENT_LENGTH': str(len(body))})


def _answer_healthcheck(app: Callable[..., Any]) -> Callable[..., Any]:
    """Let oslo.middleware's health check answer ``/healthcheck`` and no other path."""
    try:
        check = healthcheck.Healthcheck(app, {'path': '/healthcheck', 'detailed': False})
    except oslo_exceptions.ConfigInvalid:  # its own text has a field left open; there is no other mistake
        raise errors.BadConfig(
            '[healthcheck] backends: choose one of disable_by_file and enable_by_files'
        ) from None

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get('PATH_INFO', '').rstrip('/') != '/healthcheck':
            return app(environ, start_response)
        environ[request_log.ROUTE] = request_log.HEALTHCHECK
        return check(environ, start_response)

    return wrapped
