# SPDX-License-Identifier: Apache-2.0

import logging
import threading

import amqp.exceptions
import fixtures
import oslo_messaging
import sqlalchemy as sa
import testtools
from keystoneauth1 import exceptions as keystone_exceptions
from oslo_config import cfg
from oslo_db import exception as db_exception

from manila_lite.cmd import log_outages
from manila_lite.tests import waiting

_DRIVER = 'oslo.messaging._drivers.impl_rabbit'


class TestOutage(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.useFixture(fixtures.MonkeyPatch('manila_lite.cmd.log_outages._PAUSE', 0.01))
        self.back = threading.Event()
        self.outage = log_outages.Outage('The cat', self.back.is_set)
        self.addCleanup(self.until_watched_no_more)
        self.addCleanup(self.back.set)

    def lines(self):
        return self.log.output.splitlines()

    def until_said(self, number):
        waiting.until(lambda: len(self.lines()) >= number, self.lines)

    def until_watched_no_more(self):
        waiting.until(lambda: not self.outage._watched, 'it is watched for ever')

    def test_begin_and_end_are_one_line_each(self):
        for _ in range(5):
            self.outage.notice('it went')
        self.until_said(1)
        self.outage.notice('it is away')
        self.back.set()
        self.until_said(2)
        self.assertEqual(2, len(self.lines()), self.lines())
        self.assertRegex(self.lines()[0], r'^The cat does not answer\. .*: it went$')
        self.assertRegex(self.lines()[1], r'^The cat answers again, after \d+ s$')

    def test_late_error_of_an_outage_is_none_of_another(self):
        self.outage.notice('it went')
        self.back.set()
        self.until_said(2)
        self.outage.notice('its old connection')
        self.until_watched_no_more()
        self.assertEqual(2, len(self.lines()), self.lines())
        self.back.clear()
        self.outage.notice('it went again')
        self.until_said(3)
        self.assertIn('it went again', self.lines()[2])

    def test_failing_look_counts_as_away(self):
        answers = iter([1, 0])
        outage = log_outages.Outage('The dog', lambda: 1 / 0 if next(answers) else True)
        outage.notice('it went')
        self.until_said(2)
        self.assertIn('The dog answers again', self.lines()[1])


class TestOutageFilter(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.filter = log_outages.OutageFilter(cfg.ConfigOpts())
        self.noticed = []
        for name in ('_database', '_broker', '_keystone'):
            outage = getattr(self.filter, name)
            outage.notice = lambda reason, name=name: self.noticed.append((name, reason))

    def written(self, logger, error=None, level=logging.ERROR, args=()):
        """Say whether a line is written that is about an error, or has it among its arguments."""
        info = (type(error), error, None) if error is not None else None
        return self.filter.filter(logging.LogRecord(logger, level, '', 1, 'x', args, info))

    def test_errors_of_a_database_that_does_not_answer_are_left_out(self):
        away = db_exception.DBConnectionError(
            Exception('gone\n[SQL: SELECT 1]\n(Background on this error at: x)')
        )
        lost = sa.exc.OperationalError('SELECT 1', {}, Exception('gone'), connection_invalidated=True)
        wrapped = ValueError('outer')
        wrapped.__cause__ = away
        for error in (away, lost, wrapped):
            self.assertFalse(self.written('manila_lite.engine.runner', error))
        self.assertFalse(self.written('manila_lite.api.http.faults', args=(away,)))
        self.assertEqual({'_database'}, {name for name, _ in self.noticed})
        self.assertEqual(('_database', 'gone'), self.noticed[0])

    def test_other_errors_are_written(self):
        for error in (
            db_exception.DBDeadlock(),
            sa.exc.OperationalError('SELECT 1', {}, Exception('wrong')),
            OSError('a file'),
            None,
        ):
            self.assertTrue(self.written('manila_lite.engine.runner', error))
        self.assertEqual([], self.noticed)

    def test_details_for_developers_are_written(self):
        self.assertTrue(self.written('oslo_db.api', db_exception.DBConnectionError(), logging.DEBUG))

    def test_errors_of_a_broker_that_does_not_answer_are_left_out(self):
        refused = ConnectionRefusedError('refused')
        self.assertFalse(self.written(_DRIVER, args=({'err_str': refused},)))
        self.assertFalse(
            self.written('manila_lite.rpc.clients', args=(oslo_messaging.MessageDeliveryFailure('x'),))
        )
        try:
            raise amqp.exceptions.RecoverableConnectionError('lost')
        except amqp.exceptions.AMQPError:
            self.assertFalse(self.written(_DRIVER))  # the driver does not hand it over
        self.assertEqual(['_broker'] * 3, [name for name, _ in self.noticed])

    def test_refusals_of_the_broker_are_written(self):
        wrong = amqp.exceptions.PreconditionFailed('another queue of that name')
        failed = oslo_messaging.MessageDeliveryFailure('x')
        failed.__cause__ = wrong
        self.assertTrue(self.written(_DRIVER, args=({'err_str': wrong},)))
        self.assertTrue(self.written('manila_lite.rpc.clients', args=(failed,)))
        self.assertEqual([], self.noticed)

    def test_errors_of_a_keystone_that_does_not_answer_are_left_out(self):
        for error, logger, left_out in (
            (keystone_exceptions.ConnectFailure('refused'), 'keystonemiddleware.auth_token', True),
            (keystone_exceptions.ConnectTimeout('late'), 'manila_lite.api.http.keystone', True),
            (keystone_exceptions.Unauthorized('wrong'), 'keystonemiddleware.auth_token', False),
            (keystone_exceptions.ConnectFailure('refused'), 'manila_lite.siblings.connection', False),
        ):
            self.assertEqual(left_out, not self.written(logger, args=(error,)), error)
        self.assertEqual([('_keystone', 'refused'), ('_keystone', 'late')], self.noticed)

    def test_handlers_have_it_once(self):
        handler = logging.NullHandler()
        logger = logging.getLogger('test_log_outages')
        logger.addHandler(handler)
        self.addCleanup(logger.removeHandler, handler)
        before = {known: list(known.filters) for known in log_outages.log_lines.handlers()}
        for _ in range(2):
            log_outages.install(cfg.ConfigOpts())
        self.assertEqual(1, len(handler.filters))
        for known, filters in before.items():
            known.filters[:] = filters
