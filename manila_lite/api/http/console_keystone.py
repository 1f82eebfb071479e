# SPDX-License-Identifier: Apache-2.0
"""The log-in of the console's users at Keystone, which browsers cannot reach themselves.

In a module of its own, since other strategies do not need the packages imported here.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1.identity import v3
from keystoneauth1.loading import session as sessions
from oslo_log import log

from manila_lite import errors
from manila_lite.api.http import console_session, login

LOG = log.getLogger(__name__)

_WRONG = (exceptions.Unauthorized, exceptions.BadRequest, exceptions.Forbidden)
#: Keystone's answers to a login for a project: 401 means also that the user has no role in it.
_WRONG_LOGIN = 'The user, the domain or the password is wrong, or the user has no role in the project.'
_ENDED = 'The session has ended.'
_AWAY = 'Keystone cannot be reached to log in. The log of the service has the cause.'


class Keystone:
    """Keystone, as users log in there."""

    def __init__(self, conf: Any):
        """Find the URL.

        :raises errors.BadConfig: it is not known.
        """
        own = login.Login(conf)
        url = conf.console.identity_url or own.url
        if not url:
            raise errors.BadConfig(
                '[console] identity_url: missing; the login of [keystone_authtoken] has no URL of Keystone'
            )
        # The plugins for version 3 look nothing up, and want its own URL.
        self._url = url.rstrip('/') if url.rstrip('/').endswith('/v3') else url.rstrip('/') + '/v3'
        self._tls = conf[login.TOKENS]

    def log_in(self, document: dict[str, Any], token: str | None) -> tuple[str | None, list[dict[str, str]]]:
        """Return a token for a project; or None, and the projects that the user has to choose from.

        With neither user nor password: another project of the session whose ``token`` that is.

        :raises errors.Unauthorized: Keystone refuses it.
        :raises errors.Unavailable: Keystone does not answer.
        """
        project = console_session.word(document, 'project_id')
        auth = self._identity(document, token, project)
        with _explained(_WRONG_LOGIN):
            session = self._session(auth)
            first = str(session.get_token())
            if project:
                return first, []
            projects = self._projects(session)
            if len(projects) == 1:
                return str(
                    self._session(v3.Token(self._url, first, project_id=projects[0]['id'])).get_token()
                ), []
        if not projects:
            raise errors.Unauthorized(
                'The user has no role in any project. Have the operator add one.', code='unauthorized'
            )
        return None, projects

    def projects(self, token: str) -> list[dict[str, str]]:
        """Return the projects of the token's user.

        :raises errors.Unauthorized: the token is not valid any more.
        :raises errors.Unavailable: Keystone does not answer.
        """
        with _explained(_ENDED):
            return self._projects(self._session(), {'X-Auth-Token': token})

    def revoke(self, token: str) -> None:
        """Let a token end. One that has ended already is no error.

        :raises errors.Unavailable: Keystone does not answer.
        """
        with (
            contextlib.suppress(errors.Unauthorized),
            _explained(_ENDED),
            contextlib.suppress(exceptions.NotFound),
        ):
            self._session().delete(
                f'{self._url}/auth/tokens',
                authenticated=False,
                headers={'X-Auth-Token': token, 'X-Subject-Token': token},
            )

    def _identity(self, document: dict[str, Any], token: str | None, project: str) -> Any:
        user, password = (
            console_session.word(document, name, console_session.LONGEST_NAME)
            for name in ('user', 'password')
        )
        if not user and not password and token and project:
            return v3.Token(self._url, token, project_id=project)
        if not (user and password):
            raise errors.Invalid('user, password: both are needed to log in.')
        scope: dict[str, Any] = {'project_id': project} if project else {'unscoped': True}
        return v3.Password(
            self._url,
            username=user,
            password=password,
            reauthenticate=False,
            user_domain_name=console_session.word(document, 'user_domain') or 'Default',
            **scope,
        )

    def _projects(self, session: Any, headers: dict[str, str] | None = None) -> list[dict[str, str]]:
        found = session.get(
            f'{self._url}/auth/projects', headers=headers or {}, authenticated=not headers
        ).json()['projects']
        return sorted(
            (
                {'id': row['id'], 'name': row['name'], 'domain_id': row.get('domain_id') or ''}
                for row in found
                if row.get('enabled', True)
            ),
            key=lambda row: (row['name'], row['id']),
        )

    def _session(self, auth: Any = None) -> Any:
        """Return a session of its own for each user: it may keep cookies."""
        own = self._tls
        return sessions.Session().load_from_options(
            auth=auth,
            cacert=own.cafile,
            cert=own.certfile,
            key=own.keyfile,
            insecure=own.insecure,
            timeout=login.PATIENCE,
        )


@contextlib.contextmanager
def _explained(wrong: str) -> Iterator[None]:
    """Turn errors of Keystone into our own. ``wrong``: the sentence for a refusal."""
    try:
        yield
    except _WRONG:
        raise errors.Unauthorized(wrong, code='unauthorized') from None
    except exceptions.ClientException as away:
        LOG.error('Keystone cannot be reached to log a user of the console in: %s', away)
        raise errors.Unavailable(_AWAY, code='identity_unavailable') from None
