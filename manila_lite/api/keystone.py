# SPDX-License-Identifier: Apache-2.0
"""Callers with tokens of Keystone. Apart from the other strategies: nobody else needs the packages imported here."""

import functools
from collections.abc import Callable
from typing import Any

import webob
import webob.exc
from keystoneauth1 import exceptions
from keystonemiddleware import auth_token
from oslo_log import log

from manila_lite import errors
from manila_lite.api.served import SHARE, Api
from manila_lite.turns import Turns

LOG = log.getLogger(__name__)

Wsgi = Callable[[dict, Callable], Any]

_NO_USER = 'The token in X-Auth-Token is not valid, or there is none.'
_NO_SERVICE = 'The token in X-Service-Token is not valid, or is not that of a service.'
_NO_KEYSTONE = 'Keystone cannot be asked whether the token is valid. The log says why, for the operator.'


#: Seconds after which a Keystone that says nothing counts as away, where the operator names none: it would be for ever.
_PATIENCE = 10


class _Tokens(auth_token.AuthProtocol):
    """As the base class, with its answers in the API's shape; tokens that are not remembered wait for their turn."""

    def __init__(self, app: Wsgi, conf: dict[str, Any], api: Api, turns: Turns):
        super().__init__(app, conf)
        self._api = api
        self._identity_server.verify_token = _in_turn(self._identity_server.verify_token, turns)

    def _create_session(self, **kwargs: Any) -> Any:
        return super()._create_session(timeout=self._conf.get('http_connect_timeout') or _PATIENCE, **kwargs)

    def process_request(self, request: webob.Request) -> webob.Response | None:
        """Return an answer if there is nothing more to do."""
        try:
            return super().process_request(request)
        except webob.exc.HTTPUnauthorized as refused:
            said = _NO_SERVICE if request.user_token and request.user_token_valid else _NO_USER
            return self._api.reply(401, said, 'unauthorized', {'WWW-Authenticate': refused.headers['WWW-Authenticate']})
        except errors.Busy as busy:
            return self._api.fault(busy)
        except webob.exc.HTTPServiceUnavailable:
            pass    # logged
        except exceptions.ClientException as bad:
            LOG.error('Keystone cannot be asked whether a token is valid: %s', bad)
        return self._api.reply(503, _NO_KEYSTONE, 'identity_unavailable')


def _in_turn(verify: Callable[..., Any], turns: Turns) -> Callable[..., Any]:
    @functools.wraps(verify)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with turns.login():
            return verify(*args, **kwargs)
    return wrapped


def guard(app: Wsgi, conf: Any, api: Api = SHARE, turns: Turns | None = None) -> Wsgi:
    """Return the application for whoever has a valid token; ``[keystone_authtoken]`` says how to ask Keystone."""
    # Were the decision left to us (delay_auth_decision), we could not tell a bad token from a Keystone that is away.
    guarded = _Tokens(app, {'oslo_config_config': conf, 'delay_auth_decision': False}, api, turns or Turns())
    # Its access rules name us so, unless the operator says another; an option since the line above.
    conf.set_default('service_type', api.service_type, group='keystone_authtoken')
    return guarded
