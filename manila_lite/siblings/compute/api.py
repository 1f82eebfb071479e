# SPDX-License-Identifier: Apache-2.0
"""The compute API for the server of ``manila_lite.api``: its paths, its versions, and the form of its refusals."""

import re
from typing import Any

import orjson
import webob

from manila_lite import errors
from manila_lite.api.http import discovery, faults, hints
from manila_lite.api.http.definition import Definition
from manila_lite.api.http.next_steps import BY_CODE, FOR_ADMINISTRATORS
from manila_lite.siblings.compute import next_steps
from manila_lite.siblings.compute.contract import CALLS
from manila_lite.siblings.process import base

HEADER, OLD_HEADER = 'OpenStack-API-Version', 'X-OpenStack-Nova-API-Version'
#: Minor versions. Clients use the newest version announced, so it is the one that has all our calls.
MIN, MAX = 1, 97
_PREFIXES = ('v2.1', 'v2')
_SERVICE = 'compute'
_FORM = re.compile(r'(\d{1,9})\.(\d{1,9})', re.ASCII)
_base = base('compute')
#: The next step after refusals of calls that are not served: this API has no /openapi.json.
_NOT_SERVED = dict.fromkeys(
    ('no_such_path', 'no_such_action', 'wrong_method'),
    'Check the call in the reference of the Compute API; this service has a part of it.',
)
_next_step = hints.from_tables(
    BY_CODE | next_steps.BY_CODE | _NOT_SERVED, FOR_ADMINISTRATORS | next_steps.FOR_ADMINISTRATORS
)


def show(version: int) -> str:
    """Return a version as text: ``'2.97'`` for 97."""
    return f'2.{version}'


def asked(raw: webob.Request) -> int:
    """Return the minor version that a request asks for in either header; without such a header, the oldest.

    :raises errors.Invalid: the header has no version. :raises errors.NotAcceptable: the version is not served.
    """
    text = raw.headers.get(OLD_HEADER)
    for part in raw.headers.get(HEADER, '').split(','):
        service, _, version = part.strip().partition(' ')
        if service.lower() == _SERVICE:
            text = version
    if text is None:
        return MIN
    if text.strip() == 'latest':
        return MAX
    match = _FORM.fullmatch(text.strip())
    if not match:
        raise errors.Invalid(f'{HEADER}: the version must have the form 2.N.')
    if int(match[1]) != 2 or not MIN <= int(match[2]) <= MAX:
        raise errors.NotAcceptable(
            f'{HEADER}: version {text.strip()} is not supported; supported are {show(MIN)} to {show(MAX)}.'
        )
    return int(match[2])


def _stamp(answer: webob.Response, version: int | None, raw: webob.Request) -> webob.Response:
    if version is not None:
        answer.headers[HEADER] = f'{_SERVICE} {show(version)}'
        answer.headers[OLD_HEADER] = show(version)
    answer.headers['Vary'] = f'{HEADER}, {OLD_HEADER}'
    return answer


def _reply(
    status: int,
    message: str,
    reason: str,
    headers: dict[str, str] | None = None,
    *,
    administrator: bool = False,
) -> webob.Response:
    """Return a refusal as in the share API: Nova's fields, our stable code and the next step."""
    fault = {
        'code': status,
        'message': message,
        'reason': reason,
        'next': _next_step(status, reason, administrator=administrator),
    }
    return webob.Response(
        orjson.dumps({faults.NAMES.get(status, 'computeFault'): fault}),
        status=status,
        headerlist=[('Content-Type', 'application/json; charset=UTF-8'), *(headers or {}).items()],
    )


def _answer(raw: webob.Request, conf: Any) -> webob.Response | None:
    try:
        path = raw.path_info.strip('/')
    except UnicodeDecodeError:
        return None
    if path not in ('', *_PREFIXES):
        return None
    if raw.method not in ('GET', 'HEAD'):
        return _reply(405, f'{raw.method} is not allowed here; allowed: GET.', 'wrong_method')
    entry = _entry(raw, conf, path or _PREFIXES[0])
    return webob.Response(
        orjson.dumps({'version': entry} if path else {'versions': [entry]}),
        content_type='application/json',
        charset='UTF-8',
    )


def _entry(raw: webob.Request, conf: Any, prefix: str) -> dict[str, Any]:
    return {
        'id': 'v2.1',
        'status': 'CURRENT',
        'version': show(MAX),
        'min_version': show(MIN),
        'updated': '2013-07-23T11:33:21Z',
        'links': [{'rel': 'self', 'href': f'{_base(raw, conf)}/{prefix}/'}],
        'media-types': [
            {'base': 'application/json', 'type': 'application/vnd.openstack.compute+json;version=2.1'}
        ],
    }


API = Definition(
    CALLS,
    prefixes=_PREFIXES,
    version=asked,
    stamp=_stamp,
    answer=_answer,
    base=_base,
    reply=_reply,
    show=show,
    public=frozenset(
        {'', '/', *discovery.HEALTH, *(f'/{prefix}{end}' for prefix in _PREFIXES for end in ('', '/'))}
    ),
    service_type=_SERVICE,
)
