# SPDX-License-Identifier: Apache-2.0
"""How the share service is reached: the login of ``[share_service]``, and what its answers mean to us."""

import re
from collections.abc import Mapping
from typing import Any

from keystoneauth1 import exceptions as keystone_exceptions
from keystoneauth1 import loading
from keystoneauth1.identity import base as identity
from oslo_log import log

from manila_lite import errors
from manila_lite.siblings.conf import GROUP

LOG = log.getLogger(__name__)

_MEANS: dict[int, type[errors.ManilaLiteError]] = {
    400: errors.Invalid, 401: errors.Unauthorized, 403: errors.Forbidden, 404: errors.NotFound, 406: errors.NotAcceptable,
    409: errors.Conflict, 413: errors.OverQuota, 422: errors.Invalid}

#: What a service user that cannot even ask is refused with; trying again may help once the operator has looked.
_OURS = (errors.Unauthorized, errors.NotAcceptable)

#: Codes of ``errors.Unavailable``.
AWAY, MISSING = 'share_service_unavailable', 'share_service_missing'

#: Our API's root tells its versions; below this there is nothing to discover.
_VERSION = re.compile(r'/v2/*$')

#: Options of the group that openstacksdk knows by the same names, with the service's type before them.
_OF_SERVICE = ('connect_retries', 'connect_retry_delay', 'status_code_retries', 'status_code_retry_delay',
               'retriable_status_codes', 'service_type', 'service_name', 'region_name')


class Connection:
    """A connection with the service user's login; nobody is asked anything before the first call."""

    def __init__(self, conf: Any):
        self._session = _session(conf)
        self._config = _config(conf)
        self._sdk: Any = None

    def ask(self, method: str, path: str, *, who: Mapping[str, str] | None, version: str, **more: Any) -> Any:
        """Return the answer's document, or nothing where it has none; ``who``: headers of the user that asks.

        :raises errors.ManilaLiteError: it was no, or none.
        """
        try:
            if who is not None:
                more |= {'headers': {**who, **self._service_token()}, 'authenticated': False}
            answer = self._calls().request(path, method, microversion=version, **more)
        except Exception as bad:
            self._sdk = None    # a catalog that lacked the service would be remembered
            raise _away(bad) from bad
        if answer.status_code >= 400:
            raise _refused(answer, ours=who is None)
        return answer.json() if answer.content else None

    def most(self) -> tuple[int, ...]:
        """Return the highest microversion that the share service serves."""
        try:
            data = self._calls().get_endpoint_data()
        except Exception as bad:
            raise _away(bad) from bad
        return tuple(data.max_microversion or (0,)) if data else (0,)

    def _service_token(self) -> dict[str, str]:
        if not isinstance(self._session.auth, identity.BaseIdentityPlugin):
            return {}
        return {'X-Service-Token': self._session.get_token()}

    def _calls(self) -> Any:
        sdk = self._sdk
        if sdk is None:
            # Who has no sibling has no openstacksdk.
            import openstack.connection
            from openstack.config import cloud_region

            region = cloud_region.from_session(self._session, app_name='manila_lite', **self._config)
            sdk = self._sdk = openstack.connection.Connection(config=region)
        return sdk.shared_file_system


def _session(conf: Any) -> Any:
    _register_login(conf)
    try:
        auth = loading.load_auth_from_conf_options(conf, GROUP)
    except keystone_exceptions.AuthPluginException as bad:
        raise errors.BadConfig(f'[{GROUP}] auth_type = {conf[GROUP].auth_type}: {" ".join(str(bad).split())}') from None
    if auth is None:
        raise errors.BadConfig(f'[{GROUP}] auth_type: missing; how the share service is reached, for instance "password", or '
                               '"admin_token" where there is no Keystone')
    return loading.load_session_from_conf_options(conf, GROUP, auth=auth)


def _register_login(conf: Any) -> None:
    """The kind of login can be read from the section that ``auth_section`` names."""
    section = conf[GROUP].auth_section
    if section and 'auth_type' not in conf[section]:
        conf.register_opt(next(option for option in loading.get_auth_common_conf_options() if option.dest == 'auth_type'),
                          group=section)


def _config(conf: Any) -> dict[str, Any]:
    ours, prefix = conf[GROUP], 'shared_file_system_'
    config = {prefix + name: ours[name] for name in _OF_SERVICE if ours[name] is not None}
    config[f'{prefix}interface'] = ours.valid_interfaces
    config[f'{prefix}api_version'] = '2'
    where = ours.endpoint_override or _endpoint(conf)
    if where:
        config[f'{prefix}endpoint_override'] = _VERSION.sub('', where) + '/v2'
    return config


def _endpoint(conf: Any) -> str | None:
    """Return the endpoint that logins without a catalog have."""
    section = conf[conf[GROUP].auth_section or GROUP]
    return section.endpoint if 'endpoint' in section else None


def _away(bad: Exception) -> errors.Unavailable:
    names = {cls.__name__ for cls in type(bad).__mro__}
    LOG.warning('Share service: %s: %s', type(bad).__name__, ' '.join(str(bad).split()))
    if names & {'EndpointNotFound', 'ServiceDisabledException', 'EmptyCatalog'}:
        return errors.Unavailable('The catalog has no endpoint of a share service (type shared-file-system).', code=MISSING)
    return errors.Unavailable('The share service cannot be asked. The log says why, for the operator.', code=AWAY)


def _refused(answer: Any, *, ours: bool) -> errors.ManilaLiteError:
    fault = _fault(answer)
    kind = _MEANS.get(answer.status_code)
    message = ' '.join(str(fault.get('message') or '').split())
    if kind is None or not fault or (ours and kind in _OURS):
        LOG.warning('Share service: %s to %s %s: %s', answer.status_code, answer.request.method, answer.request.url,
                    message or answer.text[:200])
        return errors.Unavailable('The share service does not answer as it should. The log says how, for the operator.',
                                  code=AWAY)
    return kind(message, code=fault.get('reason') or ('share_not_found' if kind is errors.NotFound else kind.code))


def _fault(answer: Any) -> dict[str, Any]:
    """Return what the share service says went wrong, or nothing where that was not the share service."""
    try:
        (fault,) = answer.json().values()
        return fault if isinstance(fault, dict) and 'message' in fault else {}
    except (AttributeError, ValueError):
        return {'message': 'not logged in'} if answer.status_code == 401 else {}
