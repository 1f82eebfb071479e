# SPDX-License-Identifier: Apache-2.0
"""``Idempotency-Key``: a repeated request gets the answer of the first one, and creates no second object.

The key is claimed in a transaction of its own, so that a concurrent request is refused at once. The answer is stored in
the transaction that creates the object: both are kept, or neither.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any

import orjson
import webob
from oslo_log import log
from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.api.request import Request
from manila_lite.db.core import engine
from manila_lite.db.queries import idempotency_keys

LOG = log.getLogger(__name__)

HEADER = 'Idempotency-Key'
#: The header that marks the answer of an earlier request.
REPLAYED = 'Idempotency-Replayed'
#: A string of RFC 8941, or the same without quotes, as most clients send it.
PATTERN = r'^("[!#-\[\]-~]{1,255}"|[!#-\[\]-~]{1,255})$'

_KEY = re.compile(PATTERN)


def answer(req: Request, document: Any, make: Callable[[], webob.Response]) -> webob.Response:
    """Return the answer that ``make`` makes, or made for the same request with the same key.

    :raises errors.Invalid: the key is malformed.
    :raises errors.KeyReused: the key was sent with another request.
    :raises errors.InFlight: the same request is being answered now.
    """
    return _Once(req, _key_of(req), _hash_request(req, document)).answer(make)


def _key_of(req: Request) -> str:
    key = req.raw.headers[HEADER]
    if not _KEY.fullmatch(key):
        raise errors.Invalid(
            f'{HEADER}: must be 1 to 255 visible ASCII characters without quotes and backslashes.'
        )
    return _hash([req.ctx.project_id, req.ctx.user_id, key.strip('"')])


def _hash_request(req: Request, document: Any) -> str:
    """Return a hash that identifies the request; the layout of its JSON does not matter."""
    return _hash([req.raw.method, req.raw.path_info, req.version, document])


def _hash(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


class _Once:
    """A request with an idempotency key."""

    def __init__(self, req: Request, key: str, request_hash: str):
        self._db = req.ctx.db
        self._conf = req.ctx.conf.api
        self._key = key
        self._request_hash = request_hash
        self._owner = uuidutils.generate_uuid()

    def answer(self, make: Callable[[], webob.Response]) -> webob.Response:
        """Return the stored answer, or make and store it."""
        if not engine.retry_all(self._claim)():
            return self._stored_answer()
        try:
            # A retry after a connection that broke in the commit finds its own answer.
            return engine.retry_all(self._make)(make)
        except Exception:
            self._release()
            raise

    def _claim(self) -> bool:
        with self._db.writer() as conn:
            return idempotency_keys.claim(
                conn,
                self._key,
                self._request_hash,
                self._owner,
                seconds=self._conf.idempotency_claim,
                keep=self._conf.idempotency_keep,
            )

    def _make(self, make: Callable[[], webob.Response]) -> webob.Response:
        try:
            with self._db.together() as whole:
                response = make()
                if not idempotency_keys.store_answer(
                    whole.connection, self._key, self._owner, response.status_int, response.text
                ):
                    raise _Lost
        except _Lost:
            return self._stored_answer()
        return response

    def _stored_answer(self) -> webob.Response:
        with self._db.reader() as conn:
            kept = idempotency_keys.get(conn, self._key)
        if kept is not None and kept.request != self._request_hash:
            raise errors.KeyReused(
                f'{HEADER}: was sent with another request before; take a new key for each request.'
            )
        if kept is None or kept.code is None:
            raise errors.InFlight('The same request is being answered; send it again in a moment.')
        return _replayed(kept)

    def _release(self) -> None:
        """Release the key, since nothing was created. Otherwise it would be free only when the claim ends."""
        try:
            with self._db.writer() as conn:
                idempotency_keys.release(conn, self._key, self._owner)
        except engine.UNUSABLE:
            LOG.warning(
                'The %s of a request that failed stays claimed for up to %s seconds',
                HEADER,
                self._conf.idempotency_claim,
                exc_info=True,
            )


class _Lost(Exception):
    """The claim is not ours any more."""


def _replayed(kept: Any) -> webob.Response:
    response = webob.Response(kept.body, status=kept.code, content_type='application/json', charset='UTF-8')
    response.headers[REPLAYED] = 'true'
    return response
