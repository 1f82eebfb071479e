# SPDX-License-Identifier: Apache-2.0
"""The headers in which a proxy in front describes the request that it got: scheme, host and path of links in answers.

They count only from trusted proxies. Anybody else could give answers links to another host.
"""

from typing import Any

from manila_lite.api.http.client_address import ClientAddresses
from manila_lite.api.http.layers import Step

_NAMES = frozenset(
    ('HTTP_FORWARDED', *(f'HTTP_X_FORWARDED_{name}' for name in ('PROTO', 'HOST', 'FOR', 'PREFIX')))
)


def applied(peers: ClientAddresses) -> Step:
    """Return a step after which requests are as the proxy got them. Headers of other peers are removed."""

    def apply(environ: dict[str, Any]) -> None:
        if not _NAMES.isdisjoint(environ):  # most requests carry none of them
            if peers.is_proxy(environ):
                _apply(environ)
            else:
                for name in _NAMES:
                    environ.pop(name, None)

    return apply


def _apply(environ: dict[str, Any]) -> None:
    scheme, host = (
        _of_forwarded(environ['HTTP_FORWARDED'])
        if environ.get('HTTP_FORWARDED')
        else (environ.get(f'HTTP_X_FORWARDED_{name}', '') for name in ('PROTO', 'HOST'))
    )
    if scheme := _first(scheme):
        environ['wsgi.url_scheme'] = scheme.lower()
    if host := _first(host):
        environ['HTTP_HOST'] = host
    if prefix := environ.get('HTTP_X_FORWARDED_PREFIX'):
        environ['SCRIPT_NAME'] = prefix + environ.get('SCRIPT_NAME', '')


def _of_forwarded(text: str) -> tuple[str, str]:
    """Return the scheme and the host of the first proxy in a header of RFC 7239."""
    pairs = (pair.partition('=') for pair in text.partition(',')[0].split(';'))
    said = {name.strip().lower(): value for name, _, value in pairs}
    return said.get('proto', ''), said.get('host', '')


def _first(text: str) -> str:
    """Return the first value of a list: several proxies add theirs behind it. One with a port is quoted."""
    return text.partition(',')[0].strip().strip('"')
