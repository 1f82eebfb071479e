# SPDX-License-Identifier: Apache-2.0
"""Transactions that a database takes back since others need the same rows, and their repetition.

That is no fault, of the work or of the operator: nothing was written, and the same transaction succeeds a moment later.
``lock_order.py`` makes it rare. oslo.db knows most of these errors as ``DBDeadlock``: deadlocks, MariaDB's lock wait timeout,
rows that changed since they were read, and Galera's failed certifications, which come with the number of a deadlock. The rest
is here, and errors of a server that cannot write now, while another one of the same database can.
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


class CommitLost(DBConnectionError):  # type: ignore[misc]  # oslo.db has no types
    """The connection broke during the COMMIT: everything was written, or nothing. Look before you repeat the work."""


_Work = TypeVar('_Work', bound=Callable[..., Any])
_Filter = Callable[[Any, Any, str, bool], None]
#: oslo.db's decorator of functions that translate errors: its database, their class, and a pattern of their texts.
filters: Callable[[str, type[Exception], str], Callable[[_Filter], _Filter]] = exc_filters.filters


# Another transaction held the file, or the lock, for longer than the timeout.
@filters('sqlite', sqlalchemy.exc.OperationalError, r'.*is locked')
@filters('postgresql', sqlalchemy.exc.OperationalError, r'.*lock timeout')
# Another isolation level than the default one was set for the database.
@filters('postgresql', sqlalchemy.exc.OperationalError, r'.*could not serialize access')
# A standby that replays a change of what is read.
@filters('postgresql', sqlalchemy.exc.OperationalError, r'.*conflict with recovery')
# Galera's failed certification, as older releases call it at a COMMIT.
@filters('mysql', sqlalchemy.exc.OperationalError, r'.*\b1180\b.*Got error 149\b.*during COMMIT')
def _taken_back(error: Any, match: Any, engine_name: str, is_disconnect: bool) -> None:
    raise DBDeadlock(error)


# It was the primary, or never was; the driver goes on to the next host of the URL, or a proxy to another node.
@filters('postgresql', sqlalchemy.exc.DBAPIError, r'.*cannot execute .* in a read-only transaction')
# It shuts down, ended the connection, may only be read, or left Galera's primary component during a COMMIT.
@filters(
    'mysql',
    sqlalchemy.exc.DBAPIError,
    r'.*\((?:(?:1053|1290|1836|1927),|1180,.*Got error (?:5|6|107)\b.*during COMMIT)',
)
def _gone(error: Any, match: Any, engine_name: str, is_disconnect: bool) -> None:
    raise DBConnectionError(error)


def is_conflict(error: BaseException | None) -> bool:
    """Say whether the database took a transaction back for another one; also if that made another error."""
    while error is not None and not isinstance(error, DBDeadlock):
        error = error.__cause__
    return error is not None


def retry(work: _Work) -> _Work:
    """Decorate a whole unit of work that may be run again after a conflict or a lost connection.

    It is one transaction, or several of which each may be repeated. After ``CommitLost`` it is not: see ``retry_all``.
    """
    return repeating(work, TRANSIENT, but=CommitLost)


def retry_all(work: _Work) -> _Work:
    """Do as ``retry``, also after ``CommitLost``: for work that finds its own rows."""
    return repeating(work, TRANSIENT)


def repeating(
    work: _Work, worth: tuple[type[Exception], ...] = (DBDeadlock,), but: type[Exception] | tuple[()] = ()
) -> _Work:
    """Return the work as a function that repeats it, some times, after errors of the types ``worth``, without ``but``."""

    def is_worth_it(error: Exception) -> bool:
        if not isinstance(error, worth) or isinstance(error, but):
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
