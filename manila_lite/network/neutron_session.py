# SPDX-License-Identifier: Apache-2.0
"""Connection to Neutron: the login of ``[neutron]``, one connection per process, and the translation of its errors."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import openstack.connection
import openstack.exceptions
import requests
from keystoneauth1 import exceptions as keystone_exceptions
from keystoneauth1 import loading
from oslo_log import log

from manila_lite import errors
from manila_lite.conf import neutron, register_module
from manila_lite.conf.neutron import GROUP, register_login
from manila_lite.host import keystone_pace

LOG = log.getLogger(__name__)
keystone_pace.keep_none()

_WHERE = ('endpoint_override', 'endpoint')
_WHO = ('username', 'user_id')
_FOR = ('project_name', 'project_id', 'system_scope', 'trust_id')
#: Of each tuple one option must be given; keystoneauth would notice a missing one only at the first request.
_NEEDS = {
    'none': (_WHERE,),
    'http_basic': (_WHERE, ('username',), ('password',)),
    'password': (('auth_url',), _WHO, ('password',), _FOR),
    'v3password': (('auth_url',), _WHO, ('password',), _FOR),
}
#: Version suffix of an endpoint. It is removed: only Neutron's root lists the versions, which discovery needs.
_VERSION = re.compile(r'/v2(\.0)?/*$')

#: The options that the last connection was made of, and the connection: a process has one configuration.
_present: tuple[Any, 'Session'] | None = None


class Session:
    """A connection to Neutron, safe for several threads at once. It is opened at the first request."""

    def __init__(self, conf: Any, auth: Any):
        self._connection = openstack.connection.Connection(
            session=loading.load_session_from_conf_options(conf, GROUP, auth=auth),
            oslo_conf=conf,
            service_types=['network'],
            app_name='manila_lite',
        )
        where = next(filter(None, (_value(conf, name) for name in _WHERE)), None)
        if where:
            self._connection.config.config['network_endpoint_override'] = _VERSION.sub('', where)

    @contextlib.contextmanager
    def asked(self) -> Iterator[Any]:
        """Yield Neutron's calls, as openstacksdk has them.

        :raises errors.Unavailable: a call was not answered, or not as expected; the log says how.
        """
        try:
            yield self._connection.network
        except (
            openstack.exceptions.SDKException,
            keystone_exceptions.ClientException,
            requests.RequestException,
            OSError,
        ) as bad:
            LOG.warning('Neutron: %s: %s', type(bad).__name__, ' '.join(str(bad).split()))
            raise errors.Unavailable(
                'Neutron cannot be reached. The log of the service has the cause.', code='neutron_unavailable'
            ) from bad


def connect(conf: Any) -> Session:
    """Return the connection that ``[neutron]`` describes. No request is sent yet.

    :raises errors.BadConfig: the section describes no connection; one line that names the option.
    """
    global _present  # noqa: PLW0603 - one connection per process
    auth = _login(conf)
    made_of = [(group, name, conf[group][name]) for group in _groups(conf) for name in conf[group]]
    if _present is None or _present[0] != made_of:
        _present = (made_of, Session(conf, auth))
    return _present[1]


def _login(conf: Any) -> Any:
    register_module(conf, neutron)
    register_login(conf)
    try:
        auth = loading.load_auth_from_conf_options(conf, GROUP)
    except keystone_exceptions.AuthPluginException as bad:
        raise errors.BadConfig(
            f'[neutron] auth_type = {_value(conf, "auth_type")}: {" ".join(str(bad).split())}'
        ) from None
    if auth is None:
        raise errors.BadConfig(
            '[neutron] auth_type: missing; the network plugin neutron needs to know how to log in, for '
            'instance "password" or "none"'
        )
    kind = _value(conf, 'auth_type')
    for names in _NEEDS.get(kind, ()):
        if not any(_value(conf, name) for name in names):
            raise errors.BadConfig(f'[neutron] {" or ".join(names)}: missing; auth_type {kind} needs it')
    return auth


def _value(conf: Any, name: str) -> Any:
    """Return the value of an option, from ``[neutron]`` or the section that holds its login (``auth_section``)."""
    return next(
        (conf[group][name] for group in _groups(conf) if name in conf[group] and conf[group][name]), None
    )


def _groups(conf: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys((conf[GROUP].auth_section or GROUP, GROUP)))


def kind_of(refused: openstack.exceptions.HttpException) -> str:
    """Return Neutron's type of an error; an empty text if the error does not come from Neutron."""
    try:
        # A response with an error status is false in a condition.
        document: Any = None if refused.response is None else refused.response.json()
        return str(document['NeutronError']['type'])
    except (AttributeError, KeyError, TypeError, ValueError):
        return ''


def must_be_neutrons(gone: openstack.exceptions.NotFoundException) -> None:
    """Check that a 404 comes from Neutron: another server at a wrong address answers 404, too.

    :raises openstack.exceptions.NotFoundException: it comes from another server.
    """
    if not kind_of(gone):
        raise gone
