# SPDX-License-Identifier: Apache-2.0
"""Errors that no fault of a history explains: of the product, or of the simulation itself. Each fails its history.

Without this a simulated object that lacks an attribute makes operations fail, and failed operations are a good end.
"""

import json
import logging
import sqlite3

import sqlalchemy
from oslo_db import exception as db_exception

from manila_lite import errors


class Injected(RuntimeError):
    """A fault of a history: a call of a backend that fails, or a write that is refused."""


#: Errors of the database that faults raise: SQLAlchemy takes the first for a broken connection; the second is of a lock that
#: was not free, and the third of an unknown kind.
DATABASE = {
    'cut': (sqlite3.ProgrammingError, 'Cannot operate on a closed database.'),
    'locked': (sqlite3.OperationalError, 'database is locked'),
    'refused': (sqlite3.OperationalError, 'disk I/O error'),
}
#: Data of an operation that cannot be read: another fault.
UNREADABLE = '{'
_TEXTS = {text for _, text in DATABASE.values()}
#: Errors that have an error of the database as their reason. Others are refusals of the product, made on purpose.
_WRAPPED = (sqlalchemy.exc.DBAPIError, db_exception.DBError)


def find(error):
    """Return the first error, of this one and those that led to it, that is no fault of a history; or None."""
    seen = []
    while error is not None and error not in seen:
        if not _is_known(error):
            return error
        seen.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None


def _is_known(error):
    if isinstance(error, sqlite3.Error):
        return str(error) in _TEXTS
    if isinstance(error, _WRAPPED):
        return any(text in str(error) for text in _TEXTS)
    if isinstance(error, json.JSONDecodeError):
        return error.doc == UNREADABLE
    return isinstance(error, Injected | errors.ManilaLiteError)


def say(error):
    """Return the error with its place."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f' ({place.tb_frame.f_code.co_filename}:{place.tb_lineno})' if place else ''
    return f'{error!r}{where}'


def look(baton, error):
    """Let the history fail of the error, unless a fault explains it."""
    stranger = find(error)
    if stranger is not None:
        baton.fail(f'no fault explains {say(stranger)}')


class Watch(logging.Handler):
    """Logged errors, each of which fails the history unless a fault explains it. ``baton``: that of the history, or None."""

    baton = None

    def emit(self, record):
        args = record.args if isinstance(record.args, tuple) else ()
        logged = [*(record.exc_info or ())[1:2], *(one for one in args if isinstance(one, BaseException))]
        for error in logged if self.baton else ():
            look(self.baton, error)
