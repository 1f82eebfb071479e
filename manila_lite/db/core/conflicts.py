# SPDX-License-Identifier: Apache-2.0
"""Transactions that a database takes back since others need the same rows, and their repetition.

That is no fault, of the work or of the operator: nothing was written, and the same transaction succeeds a moment later.
``lock_order.py`` makes it rare. oslo.db knows most of these errors as ``DBDeadlock``: deadlocks, MariaDB's lock wait timeout,
rows that changed since they were read, and Galera's failed certifications, which come with the number of a deadlock. The rest
is here.
"""

import functools
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import sqlalchemy
from oslo_db.exception import DBConnectionError, DBDeadlock
from oslo_db.sqlalchemy import exc_filters
from oslo_log import log

LOG = log.getLogger(__name__)

#: Errors that are not the fault of the work: the same transaction may succeed a moment later.
TRANSIENT = (DBConnectionError, DBDeadlock)

#: Seconds until each repetition, at most. Conflicts wait for a random part of it, or the same two would meet once more.
_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
_Work = TypeVar('_Work', bound=Callable[..., Any])


# Another transaction held the file, or the lock, for longer than the timeout.
@exc_filters.filters('sqlite', sqlalchemy.exc.OperationalError, r'.*is locked')
@exc_filters.filters('postgresql', sqlalchemy.exc.OperationalError, r'.*lock timeout')
# Another isolation level than the default one was set for the database.
@exc_filters.filters('postgresql', sqlalchemy.exc.OperationalError, r'.*could not serialize access')
# Galera's failed certification, as older releases call it at a COMMIT.
@exc_filters.filters('mysql', sqlalchemy.exc.OperationalError, r'.*\b1180\b.*Got error 149\b.*during COMMIT')
def _taken_back(error: Any, match: Any, engine_name: str, is_disconnect: bool) -> None:
    raise DBDeadlock(error)


def is_conflict(error: BaseException | None) -> bool:
    """Say whether the database took a transaction back for another one; also if that made another error."""
    while error is not None and not isinstance(error, DBDeadlock):
        error = error.__cause__
    return error is not None


def retry(work: _Work) -> _Work:
    """Decorate a whole unit of work that may be run again after a conflict or a lost connection.

    It is one transaction, or several of which each may be repeated.
    """
    return repeating(work, TRANSIENT)


def repeating(work: _Work, worth: tuple[type[Exception], ...] = (DBDeadlock,)) -> _Work:
    """Return the work as a function that repeats it, some times, after errors that are ``worth`` it."""
    @functools.wraps(work)
    def repeated(*args: Any, **kwargs: Any) -> Any:
        for pause in _PAUSES:
            try:
                return work(*args, **kwargs)
            except worth as error:
                LOG.info('A transaction is repeated: %s', brief(error))
                time.sleep(random.uniform(0, pause) if is_conflict(error) else pause)
        return work(*args, **kwargs)
    return cast(_Work, repeated)


def brief(error: BaseException) -> str:
    """Return an error of a database without what SQLAlchemy adds in further lines."""
    return str(error).partition('\n')[0]
