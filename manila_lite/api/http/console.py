# SPDX-License-Identifier: Apache-2.0
"""The console at ``/console``: its static files, and a session for browsers.

The page talks to the public API like every client. All that it needs beyond is here: a way to log in that keeps the token
out of the reach of scripts.
"""

from collections.abc import Callable
from typing import Any

import orjson
import webob

from manila_lite import context, errors
from manila_lite.api.http import console_session, request_log
from manila_lite.api.http.definition import Definition
from manila_lite.api.http.layers import Wsgi
from manila_lite.api.http.login_checks import LoginChecks
from manila_lite.console import files

PREFIX = '/console'
#: Addresses that lead to a page, relative to themselves: nothing of the request may choose another host.
_PAGES = {PREFIX: 'console/', f'{PREFIX}/api': './#/api', f'{PREFIX}/api/': '../#/api'}
SESSION, SETTINGS, PROJECTS = f'{PREFIX}/session', f'{PREFIX}/settings', f'{PREFIX}/projects'
#: The page loads nothing from elsewhere, runs no text as a program, asks no other host, and is shown in no other page.
_OWN = tuple(f"{kind}-src 'self'" for kind in ('script', 'style', 'img', 'connect'))
_NONE = tuple(
    f"{kind} 'none'"
    for kind in ('default-src', 'base-uri', 'form-action', 'frame-ancestors', 'trusted-types')
)
POLICY = '; '.join((*_OWN, *_NONE, "require-trusted-types-for 'script'"))
HEADERS = {
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
}
_READ = ('GET', 'HEAD')


class Console:
    """The console of one application. ``outside`` is for requests that nobody has authenticated, ``inside`` for others."""

    _sessions: console_session.Sessions

    def __init__(self, services: context.Services, api: Definition, logins: LoginChecks):
        """Read the files."""
        self._services = services
        self._logins = logins
        self._api = api
        self._files = files.load()
        self._calls = {
            ('POST', SESSION): self._log_in,
            ('DELETE', SESSION): self._log_out,
            ('GET', SETTINGS): self._settings,
            ('GET', PROJECTS): self._projects,
        }
        self._allowed = {
            path: [method for method, other in (*self._calls, ('GET', SESSION)) if other == path]
            for path in (SESSION, SETTINGS, PROJECTS)
        }

    def outside(self, app: Wsgi) -> Wsgi:
        """Answer requests for the console; give requests of its page to the API the token of their session.

        :raises errors.BadConfig: Keystone's URL is not known.
        """
        # Only now: what checks tokens registers the options of its login.
        keystone = _keystone(self._services.conf) if self._services.conf.auth_strategy == 'keystone' else None
        self._sessions = console_session.Sessions(self._services, self._logins, keystone)

        def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            path = environ.get('PATH_INFO', '')
            if path == PREFIX or path.startswith(f'{PREFIX}/'):
                environ[request_log.ROUTE] = 'console'
                if (environ.get('REQUEST_METHOD'), path) != ('GET', SESSION):
                    return self._answer(webob.Request(environ), path)(environ, start_response)
            self._sessions.apply(environ)
            return app(environ, start_response)

        return wrapped

    def inside(self, app: Wsgi) -> Wsgi:
        """Tell the page who its user is."""

        def wrapped(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
            if environ.get('PATH_INFO', '') != SESSION:
                return app(environ, start_response)
            ctx = context.RequestContext.from_environ(environ, services=self._services, overwrite=False)
            is_administrator = self._services.enforcer.decide('context_is_admin', ctx, {}, own=False)
            return _json(
                {
                    'session': {
                        'user_id': ctx.user_id,
                        'user_name': environ.get('HTTP_X_USER_NAME') or ctx.user_id,
                        'project_id': ctx.project_id,
                        'project_name': environ.get('HTTP_X_PROJECT_NAME') or ctx.project_id,
                        'roles': sorted(ctx.roles),
                        'administrator': is_administrator,
                    }
                }
            )(environ, start_response)

        return wrapped

    def _answer(self, raw: webob.Request, path: str) -> webob.Response:
        try:
            response = self._call(raw, path) if path in self._allowed else self._file(raw, path)
        except Exception as error:
            response = self._api.fault(error)
        response.headers.update(HEADERS)
        return response

    def _call(self, raw: webob.Request, path: str) -> webob.Response:
        call = self._calls.get((raw.method, path))
        if call is None:
            return self._wrong_method(raw, self._allowed[path])
        console_session.must_be_from_page(raw.environ)
        return call(raw)

    def _file(self, raw: webob.Request, path: str) -> webob.Response:
        if raw.method not in _READ:
            return self._wrong_method(raw, ['GET'])
        if path in _PAGES:
            return webob.Response(status=308, location=_PAGES[path], cache_control='no-cache')
        file = self._files.get(path.removeprefix(f'{PREFIX}/') or files.INDEX)
        if file is None:
            raise errors.NotFound('The console has no such file. Its page is /console/.', code='no_such_path')
        response = webob.Response(
            file.packed,
            content_type=file.media,
            charset='UTF-8',
            content_encoding='gzip',
            conditional_response=True,
        )
        if 'Accept-Encoding' not in raw.headers or 'gzip' not in raw.accept_encoding:
            response.decode_content()
        response.etag = file.tag, False  # weak: it is the same for both forms
        response.cache_control = 'no-cache'  # asked for each time: files of two releases do not fit together
        response.vary = ('Accept-Encoding',)
        return response

    def _wrong_method(self, raw: webob.Request, allowed: list[str]) -> webob.Response:
        return self._api.reply(
            405,
            f'{raw.method} is not allowed here; allowed: {", ".join(sorted(allowed))}.',
            'wrong_method',
            {'Allow': ', '.join(sorted(allowed))},
        )

    def _settings(self, raw: webob.Request) -> webob.Response:
        return _json(
            {
                'auth_strategy': self._services.conf.auth_strategy,
                'user_domain': self._services.conf.console.user_domain,
                'docs_url': self._services.conf.console.docs_url,
            }
        )

    def _log_in(self, raw: webob.Request) -> webob.Response:
        token, projects = self._sessions.log_in(raw)
        response = _json({'projects': projects})
        if token is not None:
            console_session.set_cookie(response, raw, token)
        return response

    def _log_out(self, raw: webob.Request) -> webob.Response:
        self._sessions.log_out(raw)
        response = webob.Response(status=204, cache_control='no-store')
        console_session.set_cookie(response, raw, None)
        return response

    def _projects(self, raw: webob.Request) -> webob.Response:
        return _json({'projects': self._sessions.projects(raw)})


def _keystone(conf: Any) -> Any:
    from manila_lite.api.http import console_keystone  # its packages are slow to import

    return console_keystone.Keystone(conf)


def _json(document: dict[str, Any]) -> webob.Response:
    return webob.Response(
        orjson.dumps(document), content_type='application/json', charset='UTF-8', cache_control='no-store'
    )
