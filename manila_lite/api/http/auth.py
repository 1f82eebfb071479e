# SPDX-License-Identifier: Apache-2.0
"""Authentication: each strategy is a middleware that leaves Keystone's ``X-...`` headers in the request.

Headers of that kind that the client sent itself are removed first. A client cannot become administrator with ``X-Roles:
admin``.
"""

import hmac
import ipaddress
import os
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

import webob
import webob.exc
from oslo_middleware import basic_auth

from manila_lite import errors
from manila_lite.api.http.definition import Definition
from manila_lite.api.http.layers import Wsgi, before
from manila_lite.api.http.login_checks import LoginChecks
from manila_lite.api.http.password_file import PasswordFile

_IDENTITY = (
    'HTTP_X_USER_ID',
    'HTTP_X_USER',
    'HTTP_X_USER_NAME',
    'HTTP_X_PROJECT_ID',
    'HTTP_X_PROJECT_NAME',
    'HTTP_X_TENANT_ID',
    'HTTP_X_TENANT_NAME',
    'HTTP_X_TENANT',
    'HTTP_X_ROLES',
    'HTTP_X_ROLE',
    'HTTP_X_DOMAIN_ID',
    'HTTP_X_USER_DOMAIN_ID',
    'HTTP_X_PROJECT_DOMAIN_ID',
    'HTTP_X_IS_ADMIN_PROJECT',
    'HTTP_OPENSTACK_SYSTEM_SCOPE',
    'HTTP_X_SERVICE_ROLES',
    'HTTP_X_SERVICE_USER_ID',
    'HTTP_X_SERVICE_PROJECT_ID',
    'HTTP_X_IDENTITY_STATUS',
)


def _set(environ: dict[str, Any], user: str, project: str, roles: str) -> None:
    for name in _IDENTITY:
        environ.pop(name, None)
    environ.update(HTTP_X_USER_ID=user, HTTP_X_PROJECT_ID=project, HTTP_X_ROLES=roles)


def noauth(app: Wsgi, conf: Any, api: Definition, logins: LoginChecks) -> Wsgi:
    """Make every caller an administrator.

    A token of the form ``user:project[:role,role]`` names another caller.
    """

    def identify(environ: dict[str, Any]) -> None:
        user, project, roles = (environ.get('HTTP_X_AUTH_TOKEN', '').split(':') + ['', '', ''])[:3]
        if not project:
            user, project = 'admin', conf.api.noauth_project
        _set(environ, user, project, roles or 'admin,member,reader')

    return before(app, identify)


def check_listener(conf: Any, address: str, option: str) -> None:
    """Refuse to listen where strangers may be administrators. ``option``: names the address.

    :raises errors.BadConfig: the strategy is noauth, other machines may reach the address, and no option allows that.
    """
    if (
        conf.auth_strategy == 'noauth'
        and not ipaddress.ip_address(address).is_loopback
        and not conf.api.allow_remote_noauth
    ):
        raise errors.BadConfig(
            f'{option}: auth_strategy noauth asks for no login, so each caller at {address} is an '
            'administrator. Listen on 127.0.0.1 or ::1, choose another auth_strategy, or set [api] '
            'allow_remote_noauth'
        )


def http_basic(app: Wsgi, conf: Any, api: Definition, logins: LoginChecks) -> Wsgi:
    """Authenticate users with a password file; project and roles come from ``[api] http_basic_accounts``."""
    accounts = _accounts(conf.api.http_basic_accounts)
    passwords = _Passwords(PasswordFile(conf.api.http_basic_auth_user_file), logins)

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        try:
            user = passwords.user(environ)
        except errors.Unauthorized:
            return api.reply(
                401,
                'The user or the password is wrong, or none was sent (HTTP Basic).',
                'unauthorized',
                {'WWW-Authenticate': 'Basic realm="manila_lite"'},
            )(environ, start_response)
        project, roles = accounts.get(user, ('', ''))
        _set(environ, user, project, roles)
        return app(environ, start_response)

    return wrapped


def _accounts(lines: list[str]) -> dict[str, tuple[str, str]]:
    users = {}
    for line in lines:
        parts = line.split(':')
        if len(parts) != 3 or not all(parts):
            raise errors.BadConfig(
                f'[api] http_basic_accounts: {line!r} is not of the form user:project:role+role'
            )
        users[parts[0]] = (parts[1], parts[2].replace('+', ','))
    return users


class _Passwords:
    """Users by their headers. Remembers for a minute which headers were valid: bcrypt is slow on purpose."""

    _SECONDS = 60.0
    _MOST = 1000

    def __init__(self, file: PasswordFile, logins: LoginChecks):
        self._file = file
        self._logins = logins
        self._key = os.urandom(32)
        self._users: dict[bytes, tuple[str, float]] = {}

    def user(self, environ: dict[str, Any]) -> str:
        """Return the user of a request.

        :raises errors.Unauthorized: the user or the password is wrong, or there is none.
        :raises errors.ManilaLiteError: the password cannot be checked now.
        """
        header = environ.get('HTTP_AUTHORIZATION', '')
        digest = hmac.digest(self._key, header.encode('utf-8', 'surrogateescape'), 'sha256')
        return self._remembered(digest) or self._checked(environ, digest)

    def _remembered(self, digest: bytes) -> str | None:
        user, until = self._users.get(digest, (None, 0.0))
        return user if until > time.monotonic() else None

    def _checked(self, environ: dict[str, Any], digest: bytes) -> str:
        try:
            # A copy: parsing removes the header, and the application may have to pass it on.
            user, password = basic_auth.parse_token(basic_auth.parse_header(dict(environ)))
        except webob.exc.HTTPException:
            raise errors.Unauthorized from None
        with self._logins.password(environ, user, seen=digest in self._users):
            if self._remembered(digest) is None:  # a request that came before had the same header
                self._check(digest, user, password)
        return user

    def _check(self, digest: bytes, user: str, password: bytes) -> None:
        try:
            self._file.check(user, password)
        except errors.Unauthorized:
            self._users.pop(digest, None)
            raise
        if len(self._users) >= self._MOST:
            self._users.clear()
        self._users[digest] = (user, time.monotonic() + self._SECONDS)


def keystone(app: Wsgi, conf: Any, api: Definition, logins: LoginChecks) -> Wsgi:
    """Check tokens with keystonemiddleware, configured in ``[keystone_authtoken]``; other callers are refused here."""
    from manila_lite.api.http import keystone as tokens  # its packages are slow to import

    return tokens.guard(app, conf, api, logins.turns)


def _must_be_homely(environ: dict[str, Any]) -> None:
    """Refuse changes that web pages of other sites ask for.

    A browser sends such requests with the password that it keeps or, where no login is needed, without. It cannot send
    a Keystone token.
    """
    if environ['REQUEST_METHOD'] not in ('GET', 'HEAD') and not is_of_this_site(environ):
        raise errors.Forbidden(
            'Origin: web pages of other sites may not change anything here.', code='foreign_origin'
        )


def is_of_this_site(environ: dict[str, Any]) -> bool:
    """Say whether a request comes from a page of this service, or from no page."""
    origin = environ.get('HTTP_ORIGIN')
    return origin is None or _host(origin) == environ.get('HTTP_HOST')


def _host(origin: str) -> str | None:
    try:
        return urllib.parse.urlsplit(origin).netloc or None
    except ValueError:
        return None


STRATEGIES: dict[str, Callable[[Wsgi, Any, Definition, LoginChecks], Wsgi]] = {
    'noauth': noauth,
    'http_basic': http_basic,
    'keystone': keystone,
}


def protect(app: Wsgi, conf: Any, api: Definition, logins: LoginChecks) -> Wsgi:
    """Authenticate requests to every path but the public ones.

    :raises errors.BadConfig: the strategy is unknown or lacks what it needs.
    """
    strategy = STRATEGIES.get(conf.auth_strategy)
    if strategy is None:
        raise errors.BadConfig(
            f'auth_strategy: {conf.auth_strategy!r} is not one of {", ".join(sorted(STRATEGIES))}'
        )
    guarded = strategy(app if strategy is keystone else before(app, _must_be_homely), conf, api, logins)

    def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ.get('PATH_INFO', '') in api.public:
            return app(environ, start_response)
        return guarded(environ, start_response)

    return wrapped
