# SPDX-License-Identifier: Apache-2.0
"""Answers to requests that may be sent again: claimed before the work, stored in the transaction of the work.

Of two requests with one key, the claim lets one work. A claim ends with the answer, by release, or by itself after a
while. Then another request may take it over, and the former owner can no longer commit.
"""

import datetime
from typing import Any

import sqlalchemy as sa

from manila_lite.db.core import database_clock, host_time
from manila_lite.db.core.engine import Connection, Row, insert_ignore
from manila_lite.db.models import idempotency_keys as _kept


def claim(conn: Connection, key: str, request: str, owner: str, *, seconds: float, keep: float) -> bool:
    """Claim the request for ``seconds``, with the answer to be kept for ``keep`` hours. Return False if another owner
    has answered or holds the claim, or if the key was used for another request.
    """
    now = host_time.now(conn)
    values = {
        'request': request,
        'claim': owner,
        'claimed_until': now + datetime.timedelta(seconds=seconds),
        'expires_at': now + datetime.timedelta(hours=keep),
        'code': None,
        'body': None,
    }
    # The owner's own: its connection broke while it claimed.
    mine = sa.or_(_kept.c.claimed_until < now, _kept.c.claim == owner)
    left = sa.and_(_kept.c.request == request, _kept.c.code.is_(None), mine)
    taken = conn.execute(
        _kept.update().where(_kept.c.id == key, sa.or_(_kept.c.expires_at < now, left)).values(**values)
    )
    return bool(taken.rowcount) or insert_ignore(conn, _kept, {'id': key, **values})


def get(conn: Connection, key: str) -> Row[Any] | None:
    """Return the row of a key: request, claim, HTTP code and body; or None."""
    return conn.execute(sa.select(_kept).where(_kept.c.id == key)).first()


def store_answer(conn: Connection, key: str, owner: str, code: int, body: str) -> bool:
    """Store the answer. Return False if another owner has the claim now."""
    return bool(conn.execute(_kept.update().where(_mine(key, owner)).values(code=code, body=body)).rowcount)


def release(conn: Connection, key: str, owner: str) -> None:
    """Delete the key, unless it has an answer or another owner has the claim now."""
    conn.execute(_kept.delete().where(_mine(key, owner)))


def _mine(key: str, owner: str) -> sa.ColumnElement[bool]:
    return sa.and_(_kept.c.id == key, _kept.c.claim == owner, _kept.c.code.is_(None))


def delete_expired(conn: Connection) -> int:
    """Delete expired answers. Return their number."""
    return conn.execute(_kept.delete().where(_kept.c.expires_at < database_clock.time(conn))).rowcount
