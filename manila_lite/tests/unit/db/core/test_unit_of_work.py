# SPDX-License-Identifier: Apache-2.0
"""Several transactions that are committed as one."""

import threading
from pathlib import Path

import fixtures
import sqlalchemy as sa
import testtools
from oslo_config import cfg
from oslo_db.exception import DBDuplicateEntry

from manila_lite.cmd import setup
from manila_lite.db.core.engine import Database
from manila_lite.db.core.unit_of_work import UnitOfWork
from manila_lite.tests import waiting

TABLE = sa.Table('t', sa.MetaData(), sa.Column('number', sa.Integer, primary_key=True))


class TogetherTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        config = folder / 'c.conf'
        config.write_text(f'[database]\nconnection = sqlite:///{folder}/x.sqlite\n')
        conf = setup.configure([f'--config-file={config}'], transport_url='inproc://', conf=cfg.ConfigOpts())
        self.db, self.other = Database(conf), Database(conf)
        self.addCleanup(self.db.dispose)
        self.addCleanup(self.other.dispose)
        TABLE.create(self.db.engine)
        self.said = []

    def write(self, number):
        with self.db.writer() as conn:
            conn.execute(TABLE.insert().values(number=number))

    def numbers(self, db):
        with db.reader() as conn:
            return list(conn.execute(sa.select(TABLE.c.number)).scalars())

    def test_callbacks_run_after_all_parts_are_committed(self):
        with self.db.together():
            self.write(1)
            self.write(2)
            self.db.afterwards(lambda: self.said.append(self.numbers(self.other)))
            self.assertEqual(([1, 2], [], []), (self.numbers(self.db), self.numbers(self.other), self.said))
        self.assertEqual([[1, 2]], self.said)

    def test_error_undoes_all_writes_and_drops_the_callbacks(self):
        def work():
            with self.db.together():
                self.write(1)
                self.db.afterwards(lambda: self.said.append('never'))
                raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, work)
        self.assertEqual(([], []), (self.numbers(self.db), self.said))
        self.write(3)
        self.assertEqual([3], self.numbers(self.other))

    def test_failed_part_does_not_undo_the_others(self):
        with self.db.together():
            self.write(1)
            self.assertRaises(DBDuplicateEntry, self.write, 1)
            self.write(2)
        self.assertEqual([1, 2], self.numbers(self.other))

    def test_transaction_begins_with_the_first_write(self):
        with self.db.together() as whole:
            self.assertEqual([], self.numbers(self.db))
            with self.other.writer() as conn:  # nobody has the lock yet: the other connection can write
                conn.execute(TABLE.insert().values(number=7))
            self.assertEqual((False, [7]), (whole.begun, self.numbers(self.db)))
            self.write(8)
            self.assertTrue(whole.begun)

    def test_callback_in_a_transaction_runs_after_its_commit(self):
        with self.db.writer() as conn:
            conn.execute(TABLE.insert().values(number=1))
            self.db.afterwards(lambda: self.said.append(self.numbers(self.other)))
            self.assertEqual([], self.said)
        self.assertEqual([[1]], self.said)

    def test_callback_in_a_transaction_that_fails_never_runs(self):
        def work():
            with self.db.writer():
                self.db.afterwards(lambda: self.said.append('never'))
                raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, work)
        self.write(1)
        self.assertEqual([], self.said)

    def test_callback_outside_a_transaction_runs_at_once(self):
        self.db.afterwards(lambda: self.said.append('now'))
        self.assertEqual(['now'], self.said)

    def test_unit_that_waits_for_its_transaction_holds_up_no_other(self):
        waits, may_go = threading.Event(), threading.Event()
        self.addCleanup(may_go.set)

        def begin():
            waits.set()
            may_go.wait()
            return 'the slow one'

        slow = UnitOfWork(begin)
        first = threading.Thread(target=lambda: slow.connection, daemon=True)
        first.start()
        self.assertTrue(waits.wait(waiting.LIMIT))
        second = threading.Thread(
            target=lambda: self.said.append(UnitOfWork(lambda: 'other').connection), daemon=True
        )
        second.start()
        waiting.until(lambda: self.said, 'another unit begins')
        self.assertEqual((['other'], False), (self.said, slow.begun))
        may_go.set()
        first.join(waiting.LIMIT)
        self.assertEqual((True, 'the slow one'), (slow.begun, slow.connection))
