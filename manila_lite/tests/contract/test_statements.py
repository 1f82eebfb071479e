# SPDX-License-Identifier: Apache-2.0
"""Notes of statements: what a server would get, and that of it which no run on SQLite can tell."""

import pathlib
import re

import sqlalchemy as sa
import testtools
from sqlalchemy.dialects.sqlite import insert

from manila_lite.db import models
from manila_lite.tests import statements

ROOT = pathlib.Path(__file__).resolve().parents[2]
_shares = models.shares.c
#: Code that asks for the kind of the database, or uses the words of its driver.
_BRANCH = re.compile(r'dialect\.(name|is_)|get_backend_name|exec_driver_sql')


class Branches(testtools.TestCase):
    def test_files_that_write_sql_for_the_kind_of_database_are_known_with_their_tests(self):
        files = {
            str(path.relative_to(ROOT)) for path in ROOT.rglob('*.py') if _BRANCH.search(path.read_text())
        }
        product = {file for file in files if not file.startswith('tests/') and '/migrations/' not in file}
        self.assertEqual(set(statements.BRANCHES), product)
        self.assertEqual(
            [],
            [
                test
                for test in statements.BRANCHES.values()
                if not (ROOT / 'tests' / 'functional' / f'{test}.py').exists()
            ],
        )


class Notes(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.engine = sa.create_engine('sqlite://')
        self.addCleanup(self.engine.dispose)

    def of(self, statement, **values):
        compiled = statement.compile(self.engine)
        return statements.of(compiled, compiled.construct_params(values))

    def test_server_gets_locks_hints_and_values_of_its_own(self):
        query = (
            sa.select(_shares.id)
            .where(_shares.is_public == sa.bindparam('public'), _shares.id.in_(['a', 'b']))
            .with_hint(models.shares, 'FORCE INDEX (x)', 'mysql')
            .with_for_update(skip_locked=True)
            .limit(7)
            .offset(3)
        )
        note = self.of(query, public=True)
        self.assertEqual(['shares'], note['tables'])
        text, values = note['postgresql']
        self.assertTrue(text.endswith('FOR UPDATE SKIP LOCKED'), text)
        self.assertEqual({True, 'a', 'b', 7, 3}, set(values.values()))
        text, values = note['mysql']
        self.assertIn('FORCE INDEX (x)', text)
        self.assertRegex(text, r'LIMIT %\(\w+\)s, %\(\w+\)s')
        [offset, limit] = re.search(r'LIMIT %\((\w+)\)s, %\((\w+)\)s', text).groups()
        self.assertEqual((3, 7), (values[offset], values[limit]))
        self.assertNotIn('FOR UPDATE', note['sqlite'][0])

    def test_words_of_sqlite_alone_are_a_fault(self):
        note = self.of(insert(models.services).values(host='x').on_conflict_do_nothing())
        self.assertIn('ON CONFLICT', note['sqlite'][0])
        for server in ('postgresql', 'mysql'):
            self.assertIn('ON CONFLICT', note[server][0])
            self.assertIsNone(note[server][1])
