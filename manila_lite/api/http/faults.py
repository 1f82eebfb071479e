# SPDX-License-Identifier: Apache-2.0
"""The mapping of exception classes to HTTP statuses, along the ancestry. All errors become replies here."""

import functools
from collections.abc import Callable
from typing import Any

import orjson
import webob
from oslo_context import context as oslo_context
from oslo_db import exception as db_exception
from oslo_log import log
from oslo_policy import policy

from manila_lite import errors
from manila_lite.api.http import hints, retry_after
from manila_lite.db.core import conflicts
from manila_lite.db.core.conflicts import TRANSIENT

LOG = log.getLogger(__name__)

STATUS: dict[type[BaseException], int] = {
    errors.NotFound: 404,
    errors.Unprocessable: 422,
    errors.Invalid: 400,
    errors.Forbidden: 403,
    errors.Unauthorized: 401,
    errors.Conflict: 409,
    errors.OverQuota: 413,
    errors.NotAcceptable: 406,
    errors.TooManyRequests: 429,
    errors.Unavailable: 503,
    # Every resource that a request names is looked up first, so it existed a moment ago.
    db_exception.DBReferenceError: 409,
    policy.PolicyNotAuthorized: 403,
    policy.InvalidScope: 403,
    **dict.fromkeys(TRANSIENT, 503),
}

#: The API's name for each status; a status without a name is a computeFault.
NAMES = {
    400: 'badRequest',
    401: 'unauthorized',
    403: 'forbidden',
    404: 'itemNotFound',
    405: 'badMethod',
    406: 'notAcceptable',
    409: 'conflictingRequest',
    413: 'overLimit',
    415: 'badMediaType',
    429: 'overLimit',
    501: 'notImplemented',
    503: 'serviceUnavailable',
}

#: What the database did, if it is away.
_UNCHANGED = 'The database is busy or cannot be reached. Nothing was changed; try again in a moment.'
_IN_DOUBT = (
    'The database was lost while it stored this. It may be done or not: look in a moment, before you ask again. A request '
    'with an Idempotency-Key is repeated without harm.'
)

#: Errors that may be over in a moment.
_SOON = (errors.InFlight, errors.Busy)

SCHEMA = {
    'type': 'object',
    'minProperties': 1,
    'maxProperties': 1,
    'additionalProperties': {
        'type': 'object',
        'required': ['code', 'message'],
        'properties': {
            'code': {'type': 'integer'},
            'message': {'type': 'string'},
            'reason': {'type': 'string'},
            'next': {'type': 'string'},
            'retryAfter': {'type': 'string'},
        },
    },
}


def status_of(error: BaseException, special: tuple[tuple[type, int], ...] = ()) -> int:
    """Return the status of an exception: the call's own for its class, else that of the table, else 500."""
    table = {**STATUS, **dict(special)}
    for cls in type(error).__mro__:
        if cls in table:
            return table[cls]
    return 500


def response(
    error: BaseException,
    special: tuple[tuple[type, int], ...] = (),
    shaped: Callable[..., webob.Response] | None = None,
    *,
    administrator: bool = False,
) -> webob.Response:
    """Return the reply for an exception. ``shaped`` makes it for an API with a shape of its own; see ``reply``.

    An exception that is not in the table is a bug: it is logged, and its details are hidden.
    """
    refusal = functools.partial(shaped or reply, administrator=administrator)
    status = status_of(error, special)
    if status == 500:
        LOG.exception('Unexpected error', exc_info=error)
        return refusal(
            500, errors.unexpected(getattr(oslo_context.get_current(), 'request_id', None)), 'internal_error'
        )
    if isinstance(error, errors.ManilaLiteError):
        return refusal(status, str(error), error.code, _when_again(error))
    if conflicts.is_conflict(error):
        LOG.warning(
            'A request is refused, since it gave way to others again and again: %s', conflicts.brief(error)
        )
    elif isinstance(error, TRANSIENT):
        LOG.error('The database cannot be used: %s', error)
    if isinstance(error, TRANSIENT):
        return refusal(
            status,
            _IN_DOUBT if isinstance(error, conflicts.CommitLost) else _UNCHANGED,
            errors.Unavailable.code,
            {retry_after.HEADER: '1'},
        )
    if isinstance(error, db_exception.DBReferenceError):
        LOG.info('Deleted while it was being used: %s', error)
        return refusal(
            status,
            'A resource of the request was deleted or came into use in the meantime. Nothing was changed.',
            'changed_meanwhile',
        )
    return refusal(status, "Policy doesn't allow this to be performed.", 'forbidden')


def _when_again(error: errors.ManilaLiteError) -> dict[str, str] | None:
    """Return the header with the seconds until the request may succeed; None where nobody knows."""
    if isinstance(error, errors.TooManyRequests):
        return {retry_after.HEADER: str(error.seconds)}
    return {retry_after.HEADER: '1'} if isinstance(error, _SOON) else None


def reply(
    status: int,
    message: str,
    reason: str,
    headers: dict[str, str] | None = None,
    *,
    administrator: bool = False,
) -> webob.Response:
    """Return an error in the API's shape; ``reason`` is its stable code, ``next`` the next step for this caller."""
    fault: dict[str, Any] = {
        'code': status,
        'message': message,
        'reason': reason,
        'next': hints.next_step(status, reason, administrator=administrator),
    }
    extra = dict(headers or {})
    if status == 413:
        extra[retry_after.HEADER] = '0'
    if retry_after.HEADER in extra:
        fault['retryAfter'] = extra[retry_after.HEADER]
    body = orjson.dumps({NAMES.get(status, 'computeFault'): fault})
    return webob.Response(
        body,
        status=status,
        content_type='application/json',
        charset='UTF-8',
        headerlist=None
        if not extra
        else [('Content-Type', 'application/json'), *((key, value) for key, value in extra.items())],
    )
