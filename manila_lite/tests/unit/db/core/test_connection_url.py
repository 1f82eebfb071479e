# SPDX-License-Identifier: Apache-2.0

import sqlalchemy
import testtools

from manila_lite import errors
from manila_lite.db.core import connection_url


class Explained(testtools.TestCase):
    """Through the commands: test_operator_mistakes."""

    def why(self, url):
        try:
            connection_url.check(url, 'U')
        except errors.BadConfig as bad:
            return str(bad).removeprefix('U: ')
        try:
            sqlalchemy.create_engine(url).connect()
        except Exception as bad:
            return connection_url.explain(bad, url)
        return None

    def test_cause_and_cure_of_each_mistake(self):
        for url, why in (
            ('mysql+foo://u@h/m', 'there is no driver mysql+foo; use one of sqlite, '),
            ('u@h/m', 'it is no URL of a database; write '),
            ('postgresql://h:port/m', 'it is no URL of a database; write '),
            ('oracle+oracledb://h/m', 'the driver of oracle+oracledb is missing (No module named '),
            ('sqlite:////nowhere/m', 'there is no directory /nowhere; make it'),
            ('sqlite:////proc/m', '/proc/m cannot be written by the user '),
        ):
            self.assertTrue((self.why(url) or '').startswith(why), (url, self.why(url)))

    def test_errors_of_a_database_that_answers_have_no_explanation_here(self):
        self.assertEqual('', connection_url.explain(RuntimeError('x'), 'sqlite://'))
