# SPDX-License-Identifier: Apache-2.0
"""Several transactions that are committed as one."""

from pathlib import Path

import fixtures
import sqlalchemy as sa
import testtools
from oslo_config import cfg
from oslo_db.exception import DBDuplicateEntry

from manila_lite.cmd import setup
from manila_lite.db.core.engine import Database

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

    def test_all_is_written_and_then_said(self):
        with self.db.together():
            self.write(1)
            self.write(2)
            self.db.afterwards(lambda: self.said.append(self.numbers(self.other)))
            self.assertEqual(([1, 2], [], []), (self.numbers(self.db), self.numbers(self.other), self.said))
        self.assertEqual([[1, 2]], self.said)

    def test_after_an_error_nothing_is_written_or_said(self):
        def work():
            with self.db.together():
                self.write(1)
                self.db.afterwards(lambda: self.said.append('never'))
                raise ZeroDivisionError
        self.assertRaises(ZeroDivisionError, work)
        self.assertEqual(([], []), (self.numbers(self.db), self.said))
        self.write(3)
        self.assertEqual([3], self.numbers(self.other))

    def test_a_part_that_fails(self):
        with self.db.together():
            self.write(1)
            self.assertRaises(DBDuplicateEntry, self.write, 1)
            self.write(2)
        self.assertEqual([1, 2], self.numbers(self.other))

    def test_it_begins_with_the_first_thing_written(self):
        with self.db.together() as whole:
            self.assertEqual([], self.numbers(self.db))
            with self.other.writer() as conn:       # nobody has the lock yet: the other connection can write
                conn.execute(TABLE.insert().values(number=7))
            self.assertEqual((False, [7]), (whole.begun, self.numbers(self.db)))
            self.write(8)
            self.assertTrue(whole.begun)

    def test_outside_it_is_said_at_once(self):
        self.db.afterwards(lambda: self.said.append('now'))
        self.assertEqual(['now'], self.said)
