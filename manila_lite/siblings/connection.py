# SPDX-License-Identifier: Apache-2.0
"""Connection to a service: the login of its option group, and the translation of its errors."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from keystoneauth1 import loading
from keystoneauth1.identity import base as identity
from oslo_context import context
from oslo_log import log

from manila_lite import errors
from manila_lite.api.http import login
from manila_lite.siblings.conf import COMPUTE_GROUP, GROUP

LOG = log.getLogger(__name__)

_MEANS: dict[int, type[errors.ManilaLiteError]] = {
    400: errors.Invalid,
    401: errors.Unauthorized,
    403: errors.Forbidden,
    404: errors.NotFound,
    406: errors.NotAcceptable,
    409: errors.Conflict,
    413: errors.OverQuota,
    422: errors.Invalid,
}

#: Refusals of the service user's own requests that another try may pass, once the operator has corrected the cause.
_OURS = (errors.Unauthorized, errors.NotAcceptable)


@dataclasses.dataclass(frozen=True)
class RemoteService:
    """A service. ``sdk``: its name in openstacksdk; ``version``: of its API, as in paths. ``away`` and ``missing``:
    codes of ``errors.Unavailable``; ``not_found``: the code of a "not found" that has none.
    """

    group: str
    sdk: str
    name: str
    version: str
    away: str
    missing: str
    not_found: str


SHARES = RemoteService(
    GROUP,
    'shared_file_system',
    'share service',
    'v2',
    'share_service_unavailable',
    'share_service_missing',
    'share_not_found',
)
COMPUTE = RemoteService(
    COMPUTE_GROUP,
    'compute',
    'compute service',
    'v2.1',
    'compute_service_unavailable',
    'compute_service_missing',
    'server_not_found',
)
#: Codes of ``errors.Unavailable``.
AWAY, MISSING = SHARES.away, SHARES.missing

#: The root of our APIs lists its versions; below this suffix there is nothing to discover.
_VERSION = re.compile(r'/v2(\.1)?/*$')

#: Options of the group that openstacksdk has under the same names, prefixed with the service's type.
_OF_SERVICE = (
    'connect_retries',
    'connect_retry_delay',
    'status_code_retries',
    'status_code_retry_delay',
    'retriable_status_codes',
    'service_type',
    'service_name',
    'region_name',
)


class Connection:
    """A connection with the service user's login. No request is sent before the first call."""

    def __init__(self, conf: Any, service: RemoteService = SHARES):
        self._service = service
        self._session = _session(conf, service.group)
        self._config = _config(conf, service)
        self._sdk: Any = None

    def ask(self, method: str, path: str, *, who: Mapping[str, str] | None, version: str, **more: Any) -> Any:
        """Return the document of the answer, or None if it has none. ``who``: headers of the user that asks.

        :raises errors.ManilaLiteError: the service refused, or did not answer.
        """
        try:
            headers = _of_request()
            if who is not None:
                headers |= {**who, **self._service_token()}
                more |= {'authenticated': False}
            answer = self._calls().request(path, method, microversion=version, headers=headers, **more)
        except Exception as bad:
            self._sdk = None  # else a catalog without the service would stay cached
            raise _away(bad, self._service) from bad
        if answer.status_code >= 400:
            raise _refused(answer, self._service, ours=who is None)
        return answer.json() if answer.content else None

    def most(self) -> tuple[int, ...]:
        """Return the highest microversion that the service serves."""
        try:
            data = self._calls().get_endpoint_data()
        except Exception as bad:
            raise _away(bad, self._service) from bad
        return tuple(data.max_microversion or (0,)) if data else (0,)

    def _service_token(self) -> dict[str, str]:
        if not isinstance(self._session.auth, identity.BaseIdentityPlugin):
            return {}
        return {'X-Service-Token': self._session.get_token()}

    def _calls(self) -> Any:
        sdk = self._sdk
        if sdk is None:
            # Hosts without a sibling have no openstacksdk.
            import openstack.connection
            from openstack.config import cloud_region

            region = cloud_region.from_session(self._session, app_name='manila_lite', **self._config)
            sdk = self._sdk = openstack.connection.Connection(config=region)
        return getattr(sdk, self._service.sdk)


def _of_request() -> dict[str, str]:
    """Return the header that names the user's request, in which or for which this thread works, to the other service."""
    ctx = context.get_current()
    request_id = ctx and (ctx.global_request_id or ctx.request_id)
    return {'X-OpenStack-Request-ID': request_id} if request_id else {}


def _session(conf: Any, group: str) -> Any:
    auth = login.load(conf, group, ', or "admin_token" where there is no Keystone')
    return loading.load_session_from_conf_options(conf, group, auth=auth)


def _config(conf: Any, service: RemoteService) -> dict[str, Any]:
    ours, prefix = conf[service.group], f'{service.sdk}_'
    config = {prefix + name: ours[name] for name in _OF_SERVICE if ours[name] is not None}
    config[f'{prefix}interface'] = ours.valid_interfaces
    config[f'{prefix}api_version'] = service.version.removeprefix('v')
    where = ours.endpoint_override or _endpoint(conf, service.group)
    if where:
        config[f'{prefix}endpoint_override'] = _VERSION.sub('', where) + f'/{service.version}'
    return config


def _endpoint(conf: Any, group: str) -> str | None:
    """Return the endpoint of a login without a catalog, or None."""
    section = conf[conf[group].auth_section or group]
    return section.endpoint if 'endpoint' in section else None


def _away(bad: Exception, service: RemoteService) -> errors.Unavailable:
    names = {cls.__name__ for cls in type(bad).__mro__}
    LOG.warning('The %s: %s: %s', service.name, type(bad).__name__, ' '.join(str(bad).split()))
    if names & {'EndpointNotFound', 'ServiceDisabledException', 'EmptyCatalog'}:
        return errors.Unavailable(
            f'The catalog has no endpoint of a {service.name} (type {service.sdk.replace("_", "-")}).',
            code=service.missing,
        )
    return errors.Unavailable(
        f'The {service.name} cannot be reached. The log of the service has the cause.', code=service.away
    )


def _refused(answer: Any, service: RemoteService, *, ours: bool) -> errors.ManilaLiteError:
    fault = _fault(answer)
    kind = _MEANS.get(answer.status_code)
    message = ' '.join(str(fault.get('message') or '').split())
    if kind is None or not fault or (ours and kind in _OURS):
        LOG.warning(
            'The %s: %s to %s %s: %s',
            service.name,
            answer.status_code,
            answer.request.method,
            answer.request.url,
            message or answer.text[:200],
        )
        return errors.Unavailable(
            f'The {service.name} gave an unexpected answer. The log of the service has it.', code=service.away
        )
    return kind(
        message, code=fault.get('reason') or (service.not_found if kind is errors.NotFound else kind.code)
    )


def _fault(answer: Any) -> dict[str, Any]:
    """Return the error that the service describes; an empty one if the answer does not come from the service."""
    try:
        (fault,) = answer.json().values()
        return fault if isinstance(fault, dict) and 'message' in fault else {}
    except (AttributeError, ValueError):
        return {'message': 'not logged in'} if answer.status_code == 401 else {}
