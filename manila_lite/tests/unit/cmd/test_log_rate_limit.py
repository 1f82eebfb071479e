# SPDX-License-Identifier: Apache-2.0

import logging
import types

import fixtures
import testtools
from oslo_config import cfg

from manila_lite.cmd import log_rate_limit
from manila_lite.conf import api, register_module


class TestFlood(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.said = self.useFixture(fixtures.FakeLogger(format='%(name)s %(message)s'))
        self.log = logging.getLogger(log_rate_limit.LOGGERS[0])
        self.conf = cfg.ConfigOpts()
        register_module(self.conf, api)
        self.conf([])
        self.limit(0)  # a service that ran in this process before may have left its own limit
        self.addCleanup(self.limit, 0)

    def limit(self, burst, interval=3600.0):
        self.conf.set_override('log_flood_burst', burst)
        self.conf.set_override('log_flood_interval', interval)
        log_rate_limit.install(self.conf)

    def lines(self):
        return self.said.output.splitlines()

    def test_each_cause_logs_at_most_the_burst_of_lines(self):
        self.limit(3)
        self.limit(3)  # a second call changes nothing
        for number in range(10):
            self.log.info('%s was refused', number)
        self.log.info('another cause')
        logging.getLogger('manila_lite.manager').info('%s was refused', 11)
        self.assertEqual(
            [
                *(f'{self.log.name} {number} was refused' for number in range(3)),
                f'{self.log.name} another cause',
                'manila_lite.manager 11 was refused',
            ],
            self.lines(),
        )

    def test_number_of_omitted_lines_is_logged_later(self):
        now = 1000.0
        clock = types.SimpleNamespace(monotonic=lambda: now)
        self.useFixture(fixtures.MonkeyPatch('manila_lite.cmd.log_rate_limit.time', clock))
        held = log_rate_limit.RateLimitFilter(2, 60.0)
        self.log.addFilter(held)
        self.addCleanup(self.log.removeFilter, held)
        for number in range(7):
            self.log.warning('%s was refused', number)
        self.log.warning('once')
        self.assertNotIn('more lines', self.said.output)
        now += 60.0
        self.log.info('a line of the next interval')
        self.assertEqual(
            [f'{self.log.name} 5 more lines like this were left out: %s was refused'],
            [line for line in self.lines() if 'more lines' in line],
        )

    def test_burst_of_zero_limits_nothing(self):
        self.limit(0)
        for number in range(500):
            self.log.info('%s was refused', number)
        self.assertEqual(500, len(self.lines()))

    def test_memory_for_causes_is_bounded(self):
        held = log_rate_limit.RateLimitFilter(1, 3600.0)
        for number in range(5000):
            held.filter(
                logging.LogRecord('a', logging.INFO, '', 0, f'{number} in the text itself', None, None)
            )
        self.assertLess(len(held._counts), 1100)
