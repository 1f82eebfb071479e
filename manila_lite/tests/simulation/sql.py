# SPDX-License-Identifier: Apache-2.0
"""The real SQLite, in which each statement is a point, and may fail like a database across a network."""

import sqlite3

import sqlalchemy
from sqlalchemy import event

from manila_lite.tests.simulation import environment
from manila_lite.tests.simulation.strangers import DATABASE


def _error(fault):
    kind, text = DATABASE[fault]
    return kind(text)


class Cursor(sqlite3.Cursor):
    """A cursor that asks ``wire`` before each statement."""

    def execute(self, text, values=()):
        self.connection.wire.statement(text)
        return super().execute(text, values)


class Connection(sqlite3.Connection):
    """A connection that asks ``wire``, set by a subclass, before each statement and commit."""

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
    """The link between processes and database. Without a history it lets all through."""

    def __init__(self, turn):
        self.history = None
        self.time = lambda: environment.EPOCH  # of the clock of the database
        self.turn = turn  # the lock at which writers queue up

    def statement(self, text):
        """Let the statement reach the database, or raise an error."""
        # The last one is a ping: whether it comes depends on how fast the machine is.
        if self.history is None or text.startswith(('PRAGMA', 'SAVEPOINT', 'RELEASE')) or text == 'SELECT 1':
            return
        if text.startswith('BEGIN'):
            self.forget()
        self._meet(text.split('\n', 1)[0][:40])
        if text == 'BEGIN IMMEDIATE' and self.turn.holder is not self.history.baton.current:
            self.history.model.met('locked')
            raise _error('locked')  # the wait for others was as long as SQLite's

    def commit(self, commit):
        """Commit or fail; or commit, and raise an error all the same."""
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
        """Forget the writes of the transaction."""
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
        if fault in DATABASE:
            raise _error(fault)
        return fault


def connect_through(db, wire):
    """Put the wire between the database and its processes."""
    factory = type('WiredConnection', (Connection,), {'wire': wire})

    @event.listens_for(db.engine, 'do_connect')
    def connect(dialect: sqlalchemy.Dialect, record, args, options):
        made = sqlite3.connect(*args, **options, factory=factory)
        made.create_function('strftime', 2, lambda form, when: f'{wire.time():%Y-%m-%d %H:%M:%S.%f}')
        return made

    # oslo.db's handlers mark the end of its own BEGIN, which the product does not use, and fail on broken connections:
    # their error would hide the error that broke the connection.
    for name in ('rollback', 'commit'):
        for heard in list(getattr(db.engine.dispatch, name)):
            if heard.__name__ == '_sqlite_end_transaction':
                event.remove(db.engine, name, heard)
    db.engine.dispose()
