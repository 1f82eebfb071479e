# SPDX-License-Identifier: Apache-2.0
"""Round trips that a connection of the pool does not need: a ping when it was just used, a rollback after its transaction."""

import time
from typing import Any

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.pool.base import ResetStyle

#: Seconds after its last use for which a connection counts as alive. If it is lost meanwhile, the first statement fails, and
#: the unit of work is tried again, as after every lost connection.
ALIVE = 1.0
#: The key in a connection's record for the time of its last use.
_USED = 'manila_lite.used'


def tune(engine: Engine) -> None:
    """Ping connections only after a while without use, and do not roll back when they return to the pool.

    Whoever takes a connection ends its transaction. oslo.db offers neither setting.
    """
    engine.pool._pre_ping = False  # noqa: SLF001 - there is no public way
    engine.pool._reset_on_return = ResetStyle.reset_none  # noqa: SLF001 - there is no public way
    event.listen(engine, 'checkin', _returned)

    # After oslo.db's listener, which replaces connections that were inherited by a fork.
    @event.listens_for(engine, 'checkout')
    def taken(dbapi: Any, record: Any, proxy: Any) -> None:
        if time.monotonic() - record.info.get(
            _USED, time.monotonic()
        ) > ALIVE and not engine.dialect._do_ping_w_event(dbapi):  # noqa: SLF001 - what SQLAlchemy itself does
            raise sqlalchemy.exc.InvalidatePoolError


def _returned(dbapi: Any, record: Any) -> None:
    record.info[_USED] = time.monotonic()
