# SPDX-License-Identifier: Apache-2.0
"""The contract as an OpenAPI 3.1 document, for any microversion."""

import functools
import gzip
import hashlib
import re
from collections.abc import Iterable
from typing import Any

import orjson

from manila_lite import errors
from manila_lite.api import versions
from manila_lite.api.framework import fields, unknown_fields
from manila_lite.api.framework.call import Call
from manila_lite.api.http import faults, idempotency
from manila_lite.api.v2 import CALLS

_JSON = 'application/json'
#: Error statuses of every call; some calls have more.
_ALWAYS = (400, 401, 403, 404, 406, 429, 503)
_OF_CHANGES = (409, 413)
_SECURITY = {
    'token': {
        'type': 'apiKey',
        'in': 'header',
        'name': 'X-Auth-Token',
        'description': 'A token of Keystone; without Keystone, "user:project:role,role" names the caller.',
    },
    'password': {'type': 'http', 'scheme': 'basic'},
}

#: The whole text to some, each event to others; its data are those of the JSON form.
_STREAM = {
    'description': 'Server-sent events: lines of id, event and data. The data are as in the JSON form.'
}

_ONCE = {
    'name': idempotency.HEADER,
    'in': 'header',
    'schema': {'type': 'string', 'pattern': idempotency.PATTERN},
    'description': 'A request with the same key gets the same answer again, and creates nothing new.',
}


@functools.lru_cache(maxsize=len(versions.HISTORY))
def compressed(version: int) -> tuple[bytes, str]:
    """Return the document as JSON under gzip (a fifteenth of the size, so all versions can be cached), and its hash."""
    packed = gzip.compress(text(version), mtime=0)
    return packed, hashlib.sha256(packed).hexdigest()


def text(version: int) -> bytes:
    """Return the document as JSON."""
    return orjson.dumps(document(version))


def document(version: int) -> dict[str, Any]:
    """Return the OpenAPI document of the API at a microversion (its minor number)."""
    paths: dict[str, dict[str, Any]] = {}
    for (path, method), calls in _grouped(version).items():
        paths.setdefault(path, {})[method.lower()] = _operation(calls, version)
    return {
        'openapi': '3.1.0',
        'info': {
            'title': 'Shared file systems',
            'version': versions.show(version),
            'description': 'The Shared File Systems API v2 of OpenStack as manila_lite serves it at microversion '
            f'{versions.show(version)}. A project id may stand between /v2 and each path.',
        },
        'servers': [{'url': '/v2'}],
        'security': [{'token': []}, {'password': []}],
        'paths': paths,
        'components': {
            'securitySchemes': _SECURITY,
            'schemas': {'error': faults.SCHEMA},
            'responses': {
                'error': {
                    'description': 'Why not.',
                    'headers': _headers(),
                    'content': _content({'$ref': '#/components/schemas/error'}),
                }
            },
            'parameters': {'version': _version_header(version), 'once': _ONCE},
        },
    }


def _grouped(version: int) -> dict[tuple[str, str], list[Call]]:
    """Return the calls that exist at a version. The actions of a path form one group, every other call its own."""
    groups: dict[tuple[str, str], list[Call]] = {}
    for call in CALLS:
        if call.lives(version):
            groups.setdefault((call.path_at(version), call.method), []).append(call)
    return groups


def _operation(calls: list[Call], version: int) -> dict[str, Any]:
    first = calls[0]
    resource_type = first.name.partition('.')[0]
    operation: dict[str, Any] = {
        'operationId': first.name
        if first.action is None
        else f'{first.path.strip("/").partition("/")[0]}.action',
        'summary': '; '.join(dict.fromkeys(_summary(call) for call in calls)),
        'tags': [resource_type],
        'x-policies': sorted({call.policy for call in calls}),
        'parameters': [
            {'$ref': '#/components/parameters/version'},
            *_path(first.path_at(version)),
            *_query(calls, version),
            *([{'$ref': '#/components/parameters/once'}] if any(call.once for call in calls) else []),
        ],
        'responses': _responses(calls, version),
    }
    bodies = [
        {**body.schema(version), 'description': _summary(call)}
        for call in calls
        if (body := call.body_at(version)) is not None
    ]
    if bodies:
        operation['requestBody'] = {
            'required': True,
            'content': _content(bodies[0] if len(bodies) == 1 else {'anyOf': bodies}),
        }
    return operation


def _summary(call: Call) -> str:
    return (call.call.__doc__ or call.name).strip().partition('\n')[0]


def _version_header(version: int) -> dict[str, Any]:
    return {
        'name': versions.HEADER,
        'in': 'header',
        'required': version != versions.MIN,
        'schema': {'type': 'string', 'enum': [versions.show(version)]},
    }


def _path(path: str) -> list[dict[str, Any]]:
    return [
        {'name': name, 'in': 'path', 'required': True, 'schema': {'type': 'string', 'minLength': 1}}
        for name in re.findall(r'{(\w+)}', path)
    ]


def _query(calls: list[Call], version: int) -> list[dict[str, Any]]:
    return [
        {'name': name, 'in': 'query', 'schema': field.schema}
        for call in calls
        for field in fields.fields_at(call.query, version)
        for name in (field.name, *field.aliases)
    ]


def _responses(calls: list[Call], version: int) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status in sorted({status for call in calls for status in (call.ok, call.or_ok) if status}):
        views = [call.view.schema(version) for call in calls if call.ok == status and call.view is not None]
        responses[str(status)] = {
            'description': 'Done.' if status != 202 else 'Begun.',
            'headers': _headers(*(name for call in calls if call.ok == status for name in call.headers)),
        }
        # If one action of the path has no answer, the answers of others cannot be required.
        if views and all(call.view is not None for call in calls if call.ok == status):
            responses[str(status)]['content'] = _content(views[0] if len(views) == 1 else {'anyOf': views})
            if any(call.streams for call in calls):
                responses[str(status)]['content']['text/event-stream'] = {'schema': dict(_STREAM)}
    for status in sorted({status for call in calls for status in refusals(call, version)}):
        responses[str(status)] = {'$ref': '#/components/responses/error'}
    return responses


def refusals(call: Call, version: int) -> Iterable[int]:
    """Yield the error statuses of the call, some of them twice."""
    yield from _ALWAYS
    yield from (status for _, status in call.states)
    if call.method != 'GET':
        yield from _OF_CHANGES
    if call.once:
        yield faults.STATUS[errors.Unprocessable]
    body = call.body_at(version)
    if body is not None:
        yield from (415, faults.STATUS[body.missing])


def _headers(*more: str) -> dict[str, Any]:
    return {name: {'schema': {'type': 'string'}} for name in more} | {
        versions.HEADER: {'schema': {'type': 'string'}, 'description': 'The version that answered.'},
        'X-OpenStack-Request-ID': {'schema': {'type': 'string'}},
        unknown_fields.HEADER: {
            'schema': {'type': 'string'},
            'description': 'Fields of the request that were ignored.',
        },
    }


def _content(schema: fields.Schema) -> dict[str, Any]:
    return {_JSON: {'schema': schema}}
