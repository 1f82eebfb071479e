# SPDX-License-Identifier: Apache-2.0
"""Expected errors in the log: one line, without a traceback."""

import io
import logging

import testtools
from oslo_db import exception

from manila_lite import errors
from manila_lite.cmd import log_expected


class TestExpectedFilter(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.out = io.StringIO()
        handler = logging.StreamHandler(self.out)
        handler.setFormatter(logging.Formatter('%(levelname)s %(message)s'))
        handler.addFilter(log_expected.ExpectedFilter())
        self.logger = logging.getLogger('test_log_expected')
        self.logger.propagate = False
        self.logger.setLevel(logging.INFO)
        self.logger.addHandler(handler)
        self.addCleanup(self.logger.removeHandler, handler)

    def logged(self, error, cause=None):
        """Return what is logged of an error in a loop that goes on."""
        try:
            raise error from cause
        except Exception:
            self.logger.exception('%s: a timer failed', 'x')
        return self.out.getvalue()

    def test_49_8_conflict_is_one_line_for_information(self):
        self.assertEqual(
            'INFO x: a timer failed: the database let another transaction go first\n',
            self.logged(exception.DBDeadlock()),
        )

    def test_49_8_conflict_is_left_out_where_only_warnings_are_wanted(self):
        self.logger.setLevel(logging.WARNING)
        self.assertEqual('', self.logged(exception.DBDeadlock()))

    def test_49_8_sentence_is_enough_for_an_error_that_was_raised_on_purpose(self):
        self.assertEqual(
            'ERROR x: a timer failed: The share server is away.\n',
            self.logged(errors.ManilaLiteError('The share server is away.')),
        )

    def test_unexpected_error_has_its_traceback(self):
        self.assertIn('Traceback', self.logged(ValueError('a bug')))

    def test_error_behind_a_sentence_has_its_traceback(self):
        self.assertIn(
            'ValueError: a bug', self.logged(errors.ManilaLiteError('It failed.'), ValueError('a bug'))
        )

    def test_services_have_the_filter_once(self):
        handler = logging.StreamHandler(self.out)
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)
        for _ in range(2):
            log_expected.install()
        self.assertEqual(1, sum(isinstance(one, log_expected.ExpectedFilter) for one in handler.filters))
