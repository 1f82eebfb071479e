# SPDX-License-Identifier: Apache-2.0
"""Transactions that a database takes back, and their repetition."""

import fixtures
import sqlalchemy as sa
import testtools
from oslo_db import exception
from oslo_db.sqlalchemy import exc_filters

from manila_lite.db.core import conflicts

#: What drivers say of a transaction that gave way, by the name of the database.
_SAID = (
    ('mysql', "(1213, 'Deadlock found when trying to get lock; try restarting transaction')"),
    ('mysql', "(1213, 'Deadlock: wsrep aborted transaction')"),
    ('mysql', "(1205, 'Lock wait timeout exceeded; try restarting transaction')"),
    ('mysql', '(1020, "Record has changed since last read in table \'shares\'")'),
    ('mysql', '(1180, \'Got error 149 "Lock deadlock; Retry transaction" during COMMIT\')'),
    ('postgresql', 'deadlock detected\nDETAIL:  Process 1 waits'),
    ('postgresql', 'could not serialize access due to concurrent update'),
    ('postgresql', 'could not serialize access due to read/write dependencies among transactions'),
    ('postgresql', 'canceling statement due to lock timeout'),
    ('sqlite', 'database is locked'),
    ('postgresql', 'canceling statement due to conflict with recovery'),
)
#: What they say if another server of the same database has to be asked.
_ELSEWHERE = (
    ('mysql', "(1047, 'WSREP has not yet prepared node for application use')"),
    ('mysql', '(1180, \'Got error 6 "No such device or address" during COMMIT\')'),
    ('mysql', "(1290, 'The MariaDB server is running with the --read-only option')"),
    ('mysql', "(1927, 'Connection was killed')"),
    ('mysql', "(1053, 'Server shutdown in progress')"),
    ('mysql', "(2013, 'Lost connection to MySQL server during query')"),
    ('postgresql', 'cannot execute INSERT in a read-only transaction'),
)


class Seen:
    """What SQLAlchemy hands to listeners of errors."""

    connection = engine = None
    is_disconnect = False

    def __init__(self, database, said):
        self.sqlalchemy_exception = sa.exc.OperationalError('UPDATE x', {}, Exception(said))
        self.original_exception = self.sqlalchemy_exception.orig
        self.dialect = type('Dialect', (), {'name': database})


class TestConflicts(testtools.TestCase):
    def setUp(self):
        super().setUp()
        for name, value in (('_TRIES', 2), ('_PAUSE', 0)):
            self.useFixture(fixtures.MonkeyPatch(f'manila_lite.db.core.conflicts.{name}', value))
        self.calls = []

    def fail(self, *raised):
        """Return work that fails like this, time after time, and then succeeds."""

        def work():
            self.calls.append(None)
            if len(self.calls) <= len(raised):
                raise raised[len(self.calls) - 1]
            return 'done'

        return work

    def test_49_8_all_relatives_of_a_deadlock_are_known(self):
        for database, said in _SAID:
            self.assertIsInstance(exc_filters.handler(Seen(database, said)), exception.DBDeadlock)

    def test_53_server_that_cannot_write_is_left_for_another(self):
        for database, said in _ELSEWHERE:
            seen = Seen(database, said)
            self.assertIsInstance(exc_filters.handler(seen), exception.DBConnectionError, said)
            self.assertTrue(seen.is_disconnect)  # the pool gives the connection up

    def test_53_commit_in_doubt_is_repeated_only_by_who_finds_what_it_wrote(self):
        lost = conflicts.CommitLost(None)
        self.assertRaises(conflicts.CommitLost, conflicts.retry(self.fail(lost)))
        self.assertEqual('done', conflicts.retry_all(self.fail(lost))())

    def test_conflict_is_repeated(self):
        self.assertEqual(
            'done', conflicts.repeating(self.fail(exception.DBDeadlock(), exception.DBDeadlock()))()
        )
        self.assertEqual(3, len(self.calls))

    def test_repetition_has_an_end(self):
        self.assertRaises(exception.DBDeadlock, conflicts.repeating(self.fail(*[exception.DBDeadlock()] * 3)))
        self.assertEqual(3, len(self.calls))

    def test_other_errors_are_raised(self):
        for error in (ValueError(), exception.DBConnectionError(), exception.DBDuplicateEntry()):
            self.calls.clear()
            self.assertRaises(type(error), conflicts.repeating(self.fail(error)))

    def test_request_is_repeated_after_a_lost_connection(self):
        self.assertEqual('done', conflicts.retry(self.fail(exception.DBConnectionError()))())

    def test_error_that_follows_from_a_conflict_is_one(self):
        try:
            raise ValueError from exception.DBDeadlock()
        except ValueError as error:
            self.assertTrue(conflicts.is_conflict(error))
        self.assertFalse(conflicts.is_conflict(ValueError()))
