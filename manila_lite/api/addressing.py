# SPDX-License-Identifier: Apache-2.0
"""To whom a request says it is sent, and by whom: said once, in a form that has one meaning, and under a name of this service.

Where there is no login, a web page could otherwise have its own name lead to the loopback address (DNS rebinding), and its
browser would take this service for a part of that page. What a server in front leaves of two headers of one name is seen here
for all servers; the built-in one refuses them itself.
"""

import functools
import ipaddress
import re
import socket
import urllib.parse
from collections.abc import Callable
from typing import Any

import webob

from manila_lite import errors
from manila_lite.api.served import Api

Wsgi = Callable[[dict, Callable], Any]
#: What is wrong, or nothing.
_Wrong = errors.ManilaLiteError | None

_HOST = re.compile(r'(\[[0-9A-Fa-f:.]{2,45}\]|[0-9A-Za-z_.-]{1,253})(?::[0-9]{1,5})?', re.ASCII)
_LOOPBACK = frozenset(('localhost', 'localhost.localdomain', 'localhost6', 'ip6-localhost', 'ip6-loopback'))
#: Headers that say who asks, and the strategy under which a comma can only stand between two of them; none: under each.
_WHO = {'HTTP_AUTHORIZATION': ('Authorization', None), 'HTTP_X_AUTH_TOKEN': ('X-Auth-Token', 'keystone'),
        'HTTP_X_SERVICE_TOKEN': ('X-Service-Token', 'keystone')}
_INSTEAD = 'Use its IP address or localhost, or have the operator add the name to [api] allowed_hosts.'


def sent(app: Wsgi, conf: Any, api: Api) -> Wsgi:
    """Return ``app`` for requests whose headers, as they came, name one caller, and one host that is this service.

    :raises errors.BadConfig: the address to show in links is none.
    """
    return _guarded(app, api, (_one_caller(conf), _one_host(_names(conf, api))))


def forwarded(app: Wsgi, api: Api) -> Wsgi:
    """Return ``app`` for requests that name one host after a proxy in front has said by which name it was asked. That may be
    any: what browsers take for the host of a page is the one that they send.
    """
    host = _one_host(None)

    def settled(environ: dict) -> _Wrong:
        for name in ('HTTP_HOST', 'wsgi.url_scheme'):
            if name in environ:     # of a list the first is what the client asked; names with a port are quoted
                environ[name] = environ[name].partition(',')[0].strip().strip('"')
        return _address(environ) or host(environ)
    return _guarded(app, api, (settled,))


def _guarded(app: Wsgi, api: Api, checks: tuple[Callable[[dict], _Wrong], ...]) -> Wsgi:
    def wrapped(environ: dict, start_response: Callable) -> Any:
        for check in checks:
            if wrong := check(environ):
                return api.fault(wrong)(environ, start_response)
        return app(environ, start_response)
    return wrapped


def _malformed(message: str) -> errors.Invalid:
    return errors.Invalid(message, code='malformed_header')


def _one_caller(conf: Any) -> Callable[[dict], _Wrong]:
    looked_at = {key: name for key, (name, strategy) in _WHO.items() if strategy in (None, conf.auth_strategy)}

    def check(environ: dict) -> _Wrong:
        return next((_malformed(f'{name}: is there twice, or holds a comma.') for key, name in looked_at.items()
                     if ',' in environ.get(key, '')), None)
    return check


def _address(environ: dict) -> _Wrong:
    if environ.get('wsgi.url_scheme', '').lower() not in ('http', 'https'):
        return _malformed('X-Forwarded-Proto: is neither http nor https.')
    try:
        prefix = environ.get('SCRIPT_NAME', '').encode('latin-1').decode('utf-8')
    except UnicodeError:
        return _malformed('X-Forwarded-Prefix: is not UTF-8.')
    if not prefix.isprintable() or prefix[:1] not in ('', '/') or not {'?', '#'}.isdisjoint(prefix):
        return _malformed('X-Forwarded-Prefix: is not a path.')
    return None


def _one_host(known: frozenset[str] | None) -> Callable[[dict], _Wrong]:
    @functools.lru_cache(maxsize=256)
    def about(host: str) -> _Wrong:
        matched = _HOST.fullmatch(host)
        if matched is None:
            return _malformed('Host: is not one name or address, with or without a port.')
        name = matched[1].lower().rstrip('.')
        if known is None or name in known or name.endswith('.localhost') or _is_literal(name):
            return None
        return errors.Forbidden(f'Host: {name} is not known as a name of this service. {_INSTEAD}', code='foreign_host')

    def check(environ: dict) -> _Wrong:
        host = environ.get('HTTP_HOST')
        if not host or environ.get('PATH_INFO', '').rstrip('/') == '/healthcheck':
            return None     # a browser always says one, and who only looks whether we are well may say any
        return about(host)
    return check


def _names(conf: Any, api: Api) -> frozenset[str] | None:
    """Return the names of this service, or nothing where any will do."""
    added = [name.lower().rstrip('.') for name in conf.api.allowed_hosts]
    if '*' in added or not (added or conf.auth_strategy == 'noauth'):
        return None
    own, base = socket.gethostname().lower(), api.base(webob.Request.blank('/'), conf)
    try:
        shown = urllib.parse.urlsplit(base).hostname or 'localhost'
    except ValueError as bad:
        raise errors.BadConfig(f'the address to show in links: {base!r} is none: {bad}') from None
    return _LOOPBACK | {own, own.partition('.')[0], shown, *added}


def _is_literal(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip('[]'))
    except ValueError:
        return False
    return True

