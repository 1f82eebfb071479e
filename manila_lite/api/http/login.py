# SPDX-License-Identifier: Apache-2.0
"""The login of this service at Keystone: whether Keystone answers, and accepts it."""

from typing import Any

from keystoneauth1 import exceptions, loading
from keystoneauth1.identity import base as identity
from keystoneauth1.loading import session as sessions

from manila_lite import errors
from manila_lite.host import keystone_pace

keystone_pace.keep_none()

#: The section of the login with which tokens of callers are checked.
TOKENS = 'keystone_authtoken'
#: Seconds for which Keystone has time to answer a request.
PATIENCE = 5
#: Answers to a login that no later try will change.
_REFUSALS = (exceptions.Unauthorized, exceptions.Forbidden, exceptions.BadRequest)
#: Options that say who logs in.
_WHO = ('username', 'user_id', 'application_credential_name', 'application_credential_id')


def is_lost(error: BaseException) -> bool:
    """Say whether an error means that Keystone does not answer."""
    return isinstance(error, exceptions.ConnectionError | exceptions.DiscoveryFailure)


def load(conf: Any, group: str, hint: str = '') -> Any:
    """Return the authentication plugin that a section describes. Its options for sessions must be registered.

    ``hint``: what else ``auth_type`` may be.

    :raises errors.BadConfig: the section describes none.
    """
    section = conf[group].auth_section
    if section and 'auth_type' not in conf[section]:
        conf.register_opt(
            next(option for option in loading.get_auth_common_conf_options() if option.dest == 'auth_type'),
            group=section,
        )
    try:
        auth = loading.load_auth_from_conf_options(conf, group)
    except exceptions.AuthPluginException as bad:
        raise refused(conf, group, bad) from None
    if auth is None:
        raise errors.BadConfig(
            f'[{group}] auth_type: missing; it says how to log in, for instance "password"{hint}'
        )
    return auth


def refused(conf: Any, group: str, bad: Exception) -> errors.BadConfig:
    """Return the error for a section that describes no login."""
    section = conf[group].auth_section or group
    return errors.BadConfig(f'[{section}] auth_type = {conf[section].auth_type}: {_line(bad)}')


class Login:
    """The login of a section, with a session of its own. ``section``: the one with the values of the login.

    ``url``: of Keystone; None for a login that needs none.
    """

    def __init__(self, conf: Any, group: str = TOKENS):
        """Read the section.

        :raises errors.BadConfig: it describes no login.
        """
        self._auth = load(conf, group)
        own = conf[group]
        self._session = sessions.Session().load_from_options(
            auth=self._auth,
            cacert=own.cafile,
            cert=own.certfile,
            key=own.keyfile,
            insecure=own.insecure,
            timeout=PATIENCE,
        )
        self.section = own.auth_section or group
        self._values = conf[self.section]
        self._access: Any = None
        self.url: str | None = (
            self._auth.auth_url if isinstance(self._auth, identity.BaseIdentityPlugin) else None
        )

    def failure(self) -> str | None:
        """Log in or, if that was done before, ask Keystone for its versions. Return why it does not answer, or None.

        :raises errors.BadConfig: Keystone refuses the login; the message names the option.
        """
        if self.url is None:
            return None
        try:
            access = self._auth.get_access(self._session)  # the same one until it expires
            if access is self._access:
                self._session.get(self.url, authenticated=False)
            self._access = access
        except _REFUSALS as bad:
            name = next((name for name in _WHO if self._values.get(name)), 'auth_type')
            raise errors.BadConfig(
                f'[{self.section}] {name}: Keystone at {self.url} refuses the login of '
                f'{self._values[name]!r}: wrong name or password, or no role in the project '
                f'({_line(bad)})'
            ) from None
        except exceptions.ClientException as away:
            return _line(away)
        return None


def _line(error: Exception) -> str:
    return ' '.join(str(error).split())
