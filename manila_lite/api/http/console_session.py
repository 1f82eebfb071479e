# SPDX-License-Identifier: Apache-2.0
"""Sessions of the console: a cookie with the caller's token, which scripts cannot read.

A browser sends a cookie also when a page of another site makes it. So the cookie counts only beside a header, which no
other page can add, and for a page of this host.
"""

import base64
import binascii
import re
from typing import Any

import webob

from manila_lite import context, errors
from manila_lite.api.http import auth, json_bodies
from manila_lite.api.http.login_checks import LoginChecks

#: The header that the page adds to each request.
HEADER = 'X-Manila-Lite-Console'
_HEADER_KEY = f'HTTP_{HEADER.upper().replace("-", "_")}'
_COOKIE = 'manila_lite_console'
#: Browsers take a cookie of such a name only over HTTPS and from this host itself, not from another one of its domain.
_SECURE = f'__Host-{_COOKIE}'
#: Bytes of a body, and characters of a token: browsers drop larger cookies.
_LARGEST, _LONGEST = 16384, 3000
#: Characters of all cookies, and of ours, that are looked at.
_LONGEST_LINE, _LONGEST_COOKIE = 8192, 4096
#: Characters of a name or a password for Keystone; bcrypt reads fewer.
LONGEST_NAME = 1024
_WORD = re.compile(r'[!-9;-~]{1,255}', re.ASCII)  # no blank and no colon
_TOKEN = re.compile(r'[!-~]+', re.ASCII)


class Sessions:
    """The sessions of an application. Nothing of them is kept here: several processes may answer."""

    def __init__(self, services: context.Services, logins: LoginChecks, keystone: Any = None):
        """Keep what logs users in. ``keystone``: Keystone, as users log in there, with that strategy."""
        self._services = services
        self._logins = logins
        self._keystone = keystone

    def apply(self, environ: dict[str, Any]) -> None:
        """Let a request of the page have the token of its session.

        :raises errors.Forbidden: a page of another site sent it.
        """
        if _HEADER_KEY in environ and 'HTTP_X_AUTH_TOKEN' not in environ:
            token = _token(environ)
            if token is not None:
                must_be_from_page(environ)
                environ['HTTP_X_AUTH_TOKEN'] = token

    def log_in(self, raw: webob.Request) -> tuple[str | None, list[dict[str, str]]]:
        """Return the token of a new session. Without one: the projects of which the user has to choose one.

        :raises errors.Invalid: the body is wrong, or the strategy has no sessions.
        :raises errors.Unauthorized: the user or the password is wrong.
        :raises errors.TooManyRequests: too many logins of this address have failed.
        """
        document = _document(raw)
        strategy = self._services.conf.auth_strategy
        if strategy == 'noauth':
            return _noauth_token(document), []
        if self._keystone is None:
            raise errors.Invalid(
                f'auth_strategy {strategy} has no sessions: send the password with each request.'
            )
        user = word(document, 'user', LONGEST_NAME)
        with self._logins.password(raw.environ, user) if user else self._logins.turns.login():
            token, projects = self._keystone.log_in(document, _token(raw.environ))
        if token is not None and len(token) > _LONGEST:
            raise errors.Unavailable(
                'The token of Keystone is too long for a cookie. Have the operator use Fernet tokens.',
                code='identity_unavailable',
            )
        return token, projects

    def log_out(self, raw: webob.Request) -> None:
        """Revoke the token of the session, if Keystone gave it."""
        token = _token(raw.environ)
        if self._keystone is not None and token is not None:
            with self._logins.turns.login():
                self._keystone.revoke(token)

    def projects(self, raw: webob.Request) -> list[dict[str, str]]:
        """Return the projects that the user may choose; none where the strategy has no choice.

        :raises errors.Unauthorized: the session has ended.
        """
        token = _token(raw.environ)
        if self._keystone is None or token is None:
            return []
        with self._logins.turns.login():
            found: list[dict[str, str]] = self._keystone.projects(token)
        return found


def must_be_from_page(environ: dict[str, Any]) -> None:
    """Refuse requests that no page of this host sent.

    :raises errors.Forbidden: the header is missing, or a page of another site sent it.
    """
    if _HEADER_KEY not in environ:
        raise errors.Forbidden(
            f'{HEADER}: missing; only the page of the console may ask this.', code='foreign_origin'
        )
    if environ.get('HTTP_SEC_FETCH_SITE', 'same-origin') != 'same-origin' or not auth.is_of_this_site(
        environ
    ):
        raise errors.Forbidden(
            'Origin: web pages of other sites may not use the console.', code='foreign_origin'
        )


def set_cookie(response: webob.Response, raw: webob.Request, token: str | None) -> None:
    """Give the browser a token to keep until it ends. None: forget the one that it has."""
    secure = raw.scheme == 'https'
    value = None if token is None else base64.urlsafe_b64encode(token.encode()).decode().rstrip('=')
    response.set_cookie(
        _SECURE if secure else _COOKIE, value, path='/', httponly=True, secure=secure, samesite='strict'
    )


def _token(environ: dict[str, Any]) -> str | None:
    name = _SECURE if environ.get('wsgi.url_scheme') == 'https' else _COOKIE
    value = _cookie(environ.get('HTTP_COOKIE', '')[:_LONGEST_LINE], name)
    if not value or len(value) > _LONGEST_COOKIE:
        return None
    try:
        token = base64.b64decode(value + '=' * (-len(value) % 4), altchars=b'-_', validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return token if _TOKEN.fullmatch(token) else None


def _cookie(line: str, name: str) -> str:
    """Return the value of a cookie; '' if there is none.

    WebOb's parser is not used: its time grows with the square of the line, which anybody may send.
    """
    pairs = (pair.partition('=') for pair in line.split(';'))
    return next(
        (
            value.strip(' \t').removeprefix('"').removesuffix('"')
            for key, _, value in pairs
            if key.strip(' \t') == name
        ),
        '',
    )


def _document(raw: webob.Request) -> dict[str, Any]:
    length = raw.content_length or 0
    if length > _LARGEST:
        raise errors.Invalid(f'body: is larger than {_LARGEST} bytes.')
    document = json_bodies.read(raw.body_file_raw.read(length))
    if not isinstance(document, dict):
        raise errors.Invalid('body: must be an object.')
    return document


def word(document: dict[str, Any], name: str, most: int = 255) -> str:
    """Return a text of the body; empty if it is missing.

    :raises errors.Invalid: it is none, or too long.
    """
    value = document.get(name) or ''
    if not isinstance(value, str) or len(value) > most:
        raise errors.Invalid(f'{name}: must be a text of at most {most} characters.')
    return value


def _noauth_token(document: dict[str, Any]) -> str:
    parts = [word(document, 'user'), word(document, 'project'), word(document, 'roles') or 'member,reader']
    for name, value in zip(('user', 'project', 'roles'), parts, strict=True):
        if not _WORD.fullmatch(value):
            raise errors.Invalid(
                f'{name}: must have letters, digits and signs of ASCII, without blanks and colons.'
            )
    return ':'.join(parts)
