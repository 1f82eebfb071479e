# SPDX-License-Identifier: Apache-2.0
"""Authentication with Keystone tokens.

In a module of its own, since other strategies do not need the packages imported here.
"""

import functools
from collections.abc import Callable
from typing import Any

import webob
import webob.exc
from keystoneauth1 import exceptions
from keystonemiddleware import auth_token
from keystonemiddleware.auth_token import _request
from oslo_log import log

from manila_lite.api.http import login
from manila_lite.api.http.definition import Definition
from manila_lite.api.http.layers import Wsgi
from manila_lite.api.http.token_memory import TokenMemory
from manila_lite.thread_reserve import ThreadReserve

LOG = log.getLogger(__name__)

_NO_USER = 'The token in X-Auth-Token is missing or not valid.'
_NO_SERVICE = 'The token in X-Service-Token is not valid, or does not belong to a service.'
_NO_KEYSTONE = 'Keystone cannot be reached to check the token. The log of the service has the cause.'


#: Seconds until a silent Keystone counts as away, if the operator sets no timeout; keystonemiddleware would wait for ever.
_PATIENCE = 10
_REQUEST = _request._AuthTokenRequest  # noqa: SLF001 - there is no public list of the headers
#: Keys of the environ that name the caller: the middleware removes those that the client sent, and sets its own.
IDENTITY = frozenset(
    f'HTTP_{name.upper().replace("-", "_")}'
    for name in (*_REQUEST({})._all_auth_headers(), _REQUEST._SYSTEM_SCOPE_HEADER)  # noqa: SLF001 - the last is not removed
)
#: The one of them that the application does not read: it is large.
_CATALOG = 'HTTP_X_SERVICE_CATALOG'


class _Tokens(auth_token.AuthProtocol):  # type: ignore[misc]  # keystonemiddleware has no types
    """keystonemiddleware with answers in the API's shape. Checks of tokens that are not cached take turns.

    A token that was valid a moment ago is accepted without it.
    """

    def __init__(self, app: Wsgi, conf: dict[str, Any], api: Definition, turns: ThreadReserve):
        super().__init__(app, conf)
        self._api = api
        self._identity_server.verify_token = _in_turn(self._identity_server.verify_token, turns)
        own = self._conf.oslo_conf_obj.api
        # Whoever turns off the cache of keystonemiddleware wants to know at once that a token was revoked.
        seconds = max(0, min(own.token_memory_time, self._conf.get('token_cache_time')))
        self._memory = TokenMemory(seconds, own.token_memory_size)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """Answer a request. With a service token, it depends on that one, too, so nothing is remembered."""
        token = environ.get('HTTP_X_AUTH_TOKEN')
        known = self._memory.find(token) if token and 'HTTP_X_SERVICE_TOKEN' not in environ else None
        if known is None:
            return super().__call__(environ, start_response)
        for name in IDENTITY:
            environ.pop(name, None)
        environ.update(known)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            if status.startswith('401'):
                headers = [*headers, *self._reject_auth_headers]
            return start_response(status, headers, *more)

        return self._app(environ, start)

    def _remember(self, request: webob.Request) -> None:
        token, expires = request.environ.get('HTTP_X_AUTH_TOKEN'), request.token_auth.user.expires
        if token and expires and request.service_token is None and _is_valid_everywhere(request.token_info):
            headers = {
                name: request.environ[name] for name in IDENTITY - {_CATALOG} if name in request.environ
            }
            self._memory.remember(token, headers, expires.timestamp())

    def _create_session(self, **kwargs: Any) -> Any:
        return super()._create_session(timeout=self._conf.get('http_connect_timeout') or _PATIENCE, **kwargs)

    def process_request(self, request: webob.Request) -> webob.Response | None:
        """Return an answer, or None if the request may go on."""
        try:
            answer = super().process_request(request)
            if answer is None:
                self._remember(request)
            return answer
        except webob.exc.HTTPUnauthorized as refused:
            said = _NO_SERVICE if request.user_token and request.user_token_valid else _NO_USER
            return self._api.reply(
                401, said, 'unauthorized', {'WWW-Authenticate': refused.headers['WWW-Authenticate']}
            )
        except webob.exc.HTTPServiceUnavailable:
            pass  # logged
        except exceptions.ClientException as bad:
            LOG.error('Keystone cannot be reached to check a token: %s', bad)
        return self._api.reply(503, _NO_KEYSTONE, 'identity_unavailable')


def _is_valid_everywhere(info: dict[str, Any]) -> bool:
    """Say whether a token is valid for each request: not only for some paths, nor only for one connection."""
    token = info.get('token')
    if token is None:  # of version 2 of Keystone
        return False
    return 'bind' not in token and (token.get('application_credential') or {}).get('access_rules') is None


def _in_turn(verify: Callable[..., Any], turns: ThreadReserve) -> Callable[..., Any]:
    @functools.wraps(verify)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with turns.login():
            return verify(*args, **kwargs)

    return wrapped


def guard(app: Wsgi, conf: Any, api: Definition, turns: ThreadReserve) -> Wsgi:
    """Wrap the application so that it gets only requests with a valid token, as ``[keystone_authtoken]`` configures.

    :raises errors.BadConfig: it describes no login.
    """
    try:
        # With delay_auth_decision, a bad token could not be told from a Keystone that is away.
        guarded = _Tokens(app, {'oslo_config_config': conf, 'delay_auth_decision': False}, api, turns)
    except exceptions.AuthPluginException as bad:
        raise login.refused(conf, login.TOKENS, bad) from None
    login.load(conf, login.TOKENS)  # without one, the middleware would fail at each request
    # Keystone's access rules use this name, unless the operator sets another. The option exists since the line above.
    conf.set_default('service_type', api.service_type, group=login.TOKENS)
    return guarded
