# SPDX-License-Identifier: Apache-2.0
"""Answers to requests that may be sent again: claimed before the work, kept in the transaction of the work.

Of two requests with one key, the claim lets one work. A claim ends with the answer, or when it is released, or by
itself after a while; then another may take it over, and who had it can no longer commit.
"""

import datetime
from typing import Any

import sqlalchemy as sa
from oslo_utils import timeutils

from manila_lite.db.engine import Connection, insert_ignore
from manila_lite.db.models import kept_answers as _kept


def claim(conn: Connection, ident: str, request: str, owner: str, *, seconds: float, keep: float) -> bool:
    """The owner may answer the request for ``seconds``, and an answer is kept for ``keep`` hours; says no if another has
    answered, or does, or if the key was given to another request.
    """
    now = timeutils.utcnow()
    values = {'request': request, 'claim': owner, 'claimed_until': now + datetime.timedelta(seconds=seconds),
              'expires_at': now + datetime.timedelta(hours=keep), 'code': None, 'body': None}
    left = sa.and_(_kept.c.request == request, _kept.c.code.is_(None), _kept.c.claimed_until < now)
    taken = conn.execute(_kept.update().where(_kept.c.id == ident, sa.or_(_kept.c.expires_at < now, left)).values(**values))
    return bool(taken.rowcount) or insert_ignore(conn, _kept, {'id': ident, **values})


def get(conn: Connection, ident: str) -> Any:
    """Return what is known under a key: request, claim, code (HTTP's) and body; or nothing."""
    return conn.execute(sa.select(_kept).where(_kept.c.id == ident)).first()


def keep(conn: Connection, ident: str, owner: str, code: int, body: str) -> bool:
    """The answer is kept; says no if the owner's claim is another's by now."""
    return bool(conn.execute(_kept.update().where(_mine(ident, owner)).values(code=code, body=body)).rowcount)


def release(conn: Connection, ident: str, owner: str) -> None:
    """The key is as if it had never been used, unless there is an answer or the claim is another's by now."""
    conn.execute(_kept.delete().where(_mine(ident, owner)))


def _mine(ident: str, owner: str) -> sa.ColumnElement[bool]:
    return sa.and_(_kept.c.id == ident, _kept.c.claim == owner, _kept.c.code.is_(None))


def expire(conn: Connection) -> int:
    """Answers past their time are gone; says how many."""
    return conn.execute(_kept.delete().where(_kept.c.expires_at < timeutils.utcnow())).rowcount
