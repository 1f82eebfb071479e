# SPDX-License-Identifier: Apache-2.0
"""The answers that need no login: versions, the API description, and names for clients without Keystone."""

from typing import Any

import orjson
import webob

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.http import faults, openapi

_UPDATED = '2026-11-21T00:00:00Z'
#: Paths of every API that need no credentials.
HEALTH = frozenset({'/healthcheck', '/healthcheck/', '/readiness', '/readiness/'})
#: Paths of this one that need none.
PUBLIC = frozenset({'', '/', '/v2', '/v2/', '/openapi.json', *HEALTH})


def base(raw: webob.Request, conf: Any) -> str:
    """Return the address under which the client reaches this service, without a trailing slash."""
    return str(conf.osapi_share_base_URL or raw.application_url).rstrip('/')


def answer(raw: webob.Request, conf: Any) -> webob.Response | None:
    """Answer discovery and, without Keystone, the identity facade; return None for every other path.

    A version header matters below ``/v2`` only, as in Manila.

    :raises errors.Invalid: the version header is malformed.
    :raises errors.NotAcceptable: the version is not served.
    """
    try:
        path = raw.path_info.rstrip('/')
    except UnicodeDecodeError:
        return None
    if path == '':
        return _versions(raw, conf, 300) if raw.method in ('GET', 'HEAD') else _method(raw)
    if path == '/v2':
        return _own_version(raw, conf) if raw.method in ('GET', 'HEAD') else _method(raw)
    if path == '/openapi.json':
        return _description(raw) if raw.method in ('GET', 'HEAD') else _method(raw)
    if path.startswith('/identity/') and conf.auth_strategy != 'keystone':
        return _identity(raw, path.removeprefix('/identity/').split('/'))
    return None


def _method(raw: webob.Request) -> webob.Response:
    return faults.reply(405, f'{raw.method} is not allowed here; allowed: GET.', 'wrong_method')


def _versions(raw: webob.Request, conf: Any, status: int) -> webob.Response:
    entry = {
        'id': 'v2.0',
        'status': 'CURRENT',
        'version': versions.show(versions.MAX),
        'min_version': versions.show(versions.MIN),
        'updated': _UPDATED,
        'links': [{'rel': 'self', 'href': f'{base(raw, conf)}/v2/'}],
        'media-types': [
            {'base': 'application/json', 'type': 'application/vnd.openstack.share+json;version=1'}
        ],
    }
    return _json({'versions': [entry]}, status)


def _own_version(raw: webob.Request, conf: Any) -> webob.Response:
    """Answer with the one version below ``/v2``, at the microversion that the request asks for."""
    version = versions.asked(raw.headers.get(versions.HEADER))
    response = _versions(raw, conf, 200)
    response.headers[versions.HEADER] = versions.show(version)
    response.vary = (versions.HEADER,)
    return response


def _description(raw: webob.Request) -> webob.Response:
    """Answer with the OpenAPI document of a version: of the query, else of the header, else the newest."""
    version = _described(raw)
    packed, tag = openapi.compressed(version)
    response = webob.Response(
        packed,
        content_type='application/json',
        charset='UTF-8',
        content_encoding='gzip',
        conditional_response=True,
    )
    if 'Accept-Encoding' not in raw.headers or 'gzip' not in raw.accept_encoding:
        response.decode_content()
    response.etag = tag, False  # weak: it is the same for both forms
    response.cache_control = 'public, max-age=3600'
    response.vary = ('Accept-Encoding', versions.HEADER)
    response.headers[versions.HEADER] = versions.show(version)
    return response


def _described(raw: webob.Request) -> int:
    try:
        given = raw.GET.get('version')
    except UnicodeDecodeError:
        raise errors.Invalid('query: is not UTF-8.') from None
    if given is not None:
        return versions.asked(given, 'version')
    return versions.asked(raw.headers.get(versions.HEADER, versions.show(versions.MAX)))


def _identity(raw: webob.Request, parts: list[str]) -> webob.Response:
    """Answer the look-ups that the openstack client makes for projects and users: a name is its own id."""
    resource_type = {'projects': 'project', 'users': 'user'}.get(parts[0])
    if resource_type is None or raw.method != 'GET':
        return faults.reply(404, 'Only projects and users can be looked up here.', 'no_such_path')
    if len(parts) == 1:
        name = raw.GET.get('name', '')
        return _json({parts[0]: [{'id': name, 'name': name, 'links': {}}] if name else [], 'links': {}}, 200)
    return _json({resource_type: {'id': parts[1], 'name': parts[1], 'links': {}}}, 200)


def _json(document: dict[str, Any], status: int) -> webob.Response:
    return webob.Response(
        orjson.dumps(document), status=status, content_type='application/json', charset='UTF-8'
    )
