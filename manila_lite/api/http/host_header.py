# SPDX-License-Identifier: Apache-2.0
"""Checks of the headers that name the caller and the host of a request.

Each must be given once, in a clear form, and the host must be a name of this service. Without a login, a web page could
let its own name resolve to the loopback address (DNS rebinding), and its browser would treat this service as a part of
that page. Duplicate headers that other web servers let through are refused here; the built-in server refuses them
itself.
"""

import functools
import ipaddress
import re
import socket
import urllib.parse
from typing import Any

import webob

from manila_lite import errors
from manila_lite.api.http.definition import Definition
from manila_lite.api.http.discovery import HEALTH
from manila_lite.api.http.layers import Step

_HOST = re.compile(r'(\[[0-9A-Fa-f:.]{2,45}\]|[0-9A-Za-z_.-]{1,253})(?::[0-9]{1,5})?', re.ASCII)
_LOOPBACK = frozenset(('localhost', 'localhost.localdomain', 'localhost6', 'ip6-localhost', 'ip6-loopback'))
#: Headers that name the caller, and the strategy under which a comma in one means that it was sent twice; None: every one.
_WHO = {
    'HTTP_AUTHORIZATION': ('Authorization', None),
    'HTTP_X_AUTH_TOKEN': ('X-Auth-Token', 'keystone'),
    'HTTP_X_SERVICE_TOKEN': ('X-Service-Token', 'keystone'),
}
_INSTEAD = 'Use its IP address or localhost, or have the operator add the name to [api] allowed_hosts.'


def sent(conf: Any, api: Definition) -> tuple[Step, ...]:
    """Return checks that a request has headers which name one caller and one host of this service.

    :raises errors.BadConfig: the address to show in links is no URL.
    """
    return _one_caller(conf), _one_host(_names(conf, api))


def forwarded() -> tuple[Step, ...]:
    """Return checks that a request has one host, after the headers of a proxy in front were applied.

    That host may have any name: browsers judge a page by the name that they sent to the proxy.
    """
    return _address, _one_host(None)


def _malformed(message: str) -> errors.Invalid:
    return errors.Invalid(message, code='malformed_header')


def _one_caller(conf: Any) -> Step:
    looked_at = {
        key: name for key, (name, strategy) in _WHO.items() if strategy in (None, conf.auth_strategy)
    }

    def check(environ: dict[str, Any]) -> None:
        for key, name in looked_at.items():
            if ',' in environ.get(key, ''):
                raise _malformed(f'{name}: is there twice, or holds a comma.')

    return check


def _address(environ: dict[str, Any]) -> None:
    if environ.get('wsgi.url_scheme', '') not in ('http', 'https'):
        raise _malformed('X-Forwarded-Proto: is neither http nor https.')
    try:
        prefix = environ.get('SCRIPT_NAME', '').encode('latin-1').decode('utf-8')
    except UnicodeError:
        raise _malformed('X-Forwarded-Prefix: is not UTF-8.') from None
    if not prefix.isprintable() or prefix[:1] not in ('', '/') or not {'?', '#'}.isdisjoint(prefix):
        raise _malformed('X-Forwarded-Prefix: is not a path.')


def _one_host(known: frozenset[str] | None) -> Step:
    @functools.lru_cache(maxsize=256)
    def about(host: str) -> None:
        matched = _HOST.fullmatch(host)
        if matched is None:
            raise _malformed('Host: is not one name or address, with or without a port.')
        name = matched[1].lower().rstrip('.')
        if not (known is None or name in known or name.endswith('.localhost') or _is_literal(name)):
            raise errors.Forbidden(
                f'Host: {name} is not known as a name of this service. {_INSTEAD}', code='foreign_host'
            )

    def check(environ: dict[str, Any]) -> None:
        host = environ.get('HTTP_HOST')
        if (
            host and environ.get('PATH_INFO', '') not in HEALTH
        ):  # browsers always send one, and health checks may use any
            about(host)

    return check


def _names(conf: Any, api: Definition) -> frozenset[str] | None:
    """Return the names of this service, or None if every name is accepted."""
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
