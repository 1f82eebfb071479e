# SPDX-License-Identifier: Apache-2.0
"""The data-processing API for ``manila_lite.api``: two versions in paths, the form of refusals, and answers before a login."""

from typing import Any

import orjson
import webob

from manila_lite.api.http import discovery
from manila_lite.api.http.definition import Definition
from manila_lite.siblings import process
from manila_lite.siblings.dataproc import contract

_MINOR = {'v1.1': 1, 'v2': 2}
_SHOWN = {number: prefix for prefix, number in _MINOR.items()}

#: Error names that clients of Sahara know, by status; for refusals whose code is not one of them already.
_NAMES = {
    400: 'VALIDATION_ERROR',
    401: 'UNAUTHORIZED',
    403: 'FORBIDDEN',
    404: 'NOT_FOUND',
    405: 'METHOD_NOT_ALLOWED',
    409: 'CONFLICT',
    413: 'REQUEST_TOO_LARGE',
    415: 'UNSUPPORTED_MEDIA_TYPE',
    500: 'INTERNAL_SERVER_ERROR',
    429: 'TOO_MANY_REQUESTS',
    501: 'NOT_IMPLEMENTED',
    503: 'SERVICE_UNAVAILABLE',
}

_base = process.base('dataproc')


def _version(raw: webob.Request) -> int:
    """Return the version that the path names; for any other path, the newest."""
    return _MINOR.get(raw.environ.get('PATH_INFO', '').strip('/').partition('/')[0], max(_SHOWN))


def _reply(
    status: int,
    message: str,
    reason: str,
    headers: dict[str, str] | None = None,
    *,
    administrator: bool = False,
) -> webob.Response:
    """Return a refusal as Sahara has it: this form has no place for the next step."""
    name = reason if reason.isupper() else _NAMES.get(status, 'ERROR')
    body = {'error_code': status, 'error_name': name, 'error_message': message}
    answer = webob.Response(
        orjson.dumps(body), status=status, content_type='application/json', charset='UTF-8'
    )
    answer.headers.update(headers or {})
    return answer


def _answer(raw: webob.Request, conf: Any) -> webob.Response | None:
    """Return the list of versions, or one version, for requests outside of any project."""
    try:
        path = raw.path_info.strip('/')
    except UnicodeDecodeError:
        return None
    if path not in ('', *_MINOR):
        return None
    if raw.method not in ('GET', 'HEAD'):
        return _reply(405, f'{raw.method} is not allowed here; allowed: GET.', 'wrong_method')
    versions = [
        {
            'id': prefix,
            'status': 'CURRENT' if prefix == 'v2' else 'SUPPORTED',
            'links': [{'rel': 'self', 'href': f'{_base(raw, conf)}/{prefix}'}],
        }
        for prefix in _MINOR
    ]
    shown = (
        {'versions': versions} if not path else {'versions': [one for one in versions if one['id'] == path]}
    )
    return webob.Response(
        orjson.dumps(shown), status=300 if not path else 200, content_type='application/json', charset='UTF-8'
    )


API = Definition(
    calls=contract.CALLS,
    prefixes=tuple(_MINOR),
    version=_version,
    stamp=lambda answer, version, raw: answer,
    answer=_answer,
    public=frozenset(
        {'', '/', *discovery.HEALTH, *(f'/{prefix}{end}' for prefix in _MINOR for end in ('', '/'))}
    ),
    base=_base,
    reply=_reply,
    show=lambda number: _SHOWN[number],
)
