# SPDX-License-Identifier: Apache-2.0
"""The real SQLite, in which each statement is a point, and may fail as a database beyond a network does."""

import sqlite3

import sqlalchemy
from sqlalchemy import event

#: What SQLAlchemy takes for a connection that broke, what a lock says that was not had, and what nobody knows.
_ERRORS = {'cut': (sqlite3.ProgrammingError, 'Cannot operate on a closed database.'),
           'locked': (sqlite3.OperationalError, 'database is locked'),
           'refused': (sqlite3.OperationalError, 'disk I/O error')}


def _error(fault):
    kind, text = _ERRORS[fault]
    return kind(text)


class Cursor(sqlite3.Cursor):
    """Each statement asks ``wire`` first."""

    def execute(self, text, values=()):
        self.connection.wire.statement(text)
        return super().execute(text, values)


class Connection(sqlite3.Connection):
    """Each statement and each commit asks ``wire``, which a subclass has."""

    wire = None

    def cursor(self, factory=Cursor):
        return super().cursor(factory)

    def commit(self):
        if self.in_transaction:
            self.wire.commit(super().commit)

    def rollback(self):
        self.wire.forget()
        super().rollback()


class Wire:
    """Between the processes and the database. Without a history it lets all through."""

    def __init__(self, turn):
        self.history = None
        self.turn = turn            # the lock behind which writers queue up

    def statement(self, text):
        """The statement reaches the database, or an error is raised."""
        if self.history is None or text.startswith(('PRAGMA', 'SAVEPOINT', 'RELEASE')):
            return
        if text.startswith('BEGIN'):
            self.forget()
        self._meet(text.split('\n', 1)[0][:40])
        if text == 'BEGIN IMMEDIATE' and self.turn.holder is not self.history.baton.current:
            self.history.model.met('locked')
            raise _error('locked')       # it waited for the others for as long as SQLite waits

    def commit(self, commit):
        """What was written is there for all; or is not; or is, and who wrote it does not hear of it."""
        if self.history is None:
            commit()
            return
        fault = self._meet('COMMIT')
        commit()
        self.history.model.committed(self.history.baton.current)
        if fault == 'unsure':
            self.history.model.met('cut')
            raise _error('cut')

    def forget(self):
        """What was written is not there."""
        if self.history is not None:
            self.history.model.pending.pop(self.history.baton.current, None)

    def _meet(self, what):
        baton, faults = self.history.baton, self.history.faults
        baton.point(what)
        fault = faults.at_statement(baton.current.process, what)
        if fault is None:
            return None
        baton.note(f'{fault}: {what}')
        self.history.model.met(fault)
        if fault == 'stalled':
            baton.sleep(faults.long())
            faults.disturbed()
        if fault in _ERRORS:
            raise _error(fault)
        return fault


def put_between(db, wire):
    """The processes that use the database reach it over the wire."""
    factory = type('WiredConnection', (Connection,), {'wire': wire})

    @event.listens_for(db.engine, 'do_connect')
    def connect(dialect: sqlalchemy.Dialect, record, args, options):
        return sqlite3.connect(*args, **options, factory=factory)

    # oslo.db marks what its own BEGIN is, which the product has done away with, and does so on connections that broke, too:
    # SQLite has none. As it is, what a connection breaks of would be hidden behind an error of that.
    for name in ('rollback', 'commit'):
        for heard in list(getattr(db.engine.dispatch, name)):
            if heard.__name__ == '_sqlite_end_transaction':
                event.remove(db.engine, name, heard)
    db.engine.dispose()
