# SPDX-License-Identifier: Apache-2.0
"""Transactions that a database takes back since others need the same rows, and their repetition.

That is no fault, of the work or of the operator: nothing was written, and the same transaction succeeds a moment later.
``lock_order.py`` makes it rare. oslo.db knows most of these errors as ``DBDeadlock``: deadlocks, MariaDB's lock wait timeout,
rows that changed since they were read, and Galera's failed certifications, which come with the number of a deadlock. The rest
is here.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy
from oslo_db.api import wrap_db_retry
from oslo_db.exception import DBConnectionError, DBDeadlock
from oslo_db.sqlalchemy import exc_filters
from oslo_log import log

LOG = log.getLogger(__name__)

#: Errors that are not the fault of the work: the same transaction may succeed a moment later.
TRANSIENT = (DBConnectionError, DBDeadlock)

#: Repetitions at most, and the seconds until the first one. oslo.db doubles them, and takes a random part of them after a
#: deadlock, or the same two would meet once more.
_TRIES, _PAUSE = 5, 0.05
_Work = TypeVar('_Work', bound=Callable[..., Any])
_Filter = Callable[[Any, Any, str, bool], None]
#: oslo.db's decorator of functions that translate errors: its database, their class, and a pattern of their texts.
filters: Callable[[str, type[Exception], str], Callable[[_Filter], _Filter]] = exc_filters.filters


# Another transaction held the file, or the lock, for longer than the timeout.
@filters('sqlite', sqlalchemy.exc.OperationalError, r'.*is locked')
@filters('postgresql', sqlalchemy.exc.OperationalError, r'.*lock timeout')
# Another isolation level than the default one was set for the database.
@filters('postgresql', sqlalchemy.exc.OperationalError, r'.*could not serialize access')
# Galera's failed certification, as older releases call it at a COMMIT.
@filters('mysql', sqlalchemy.exc.OperationalError, r'.*\b1180\b.*Got error 149\b.*during COMMIT')
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
    """Return the work as a function that repeats it, some times, after errors of these types."""

    def is_worth_it(error: Exception) -> bool:
        if not isinstance(error, worth):
            return False
        LOG.info('A transaction was taken back, or lost its connection: %s', brief(error))
        return True

    repeats: Callable[[_Work], _Work] = wrap_db_retry(
        max_retries=_TRIES, retry_interval=_PAUSE, max_retry_interval=1, exception_checker=is_worth_it
    )
    return repeats(work)


def brief(error: BaseException) -> str:
    """Return the first line of a database error. SQLAlchemy adds the statement and its values in others."""
    return str(error).partition('\n')[0]
