# SPDX-License-Identifier: Apache-2.0

import resource

import fixtures
import testtools
from oslo_config import cfg

from manila_lite.api.server import connection_limits
from manila_lite.conf import api, register_module


class TestLimits(testtools.TestCase):
    def test_options_have_the_same_defaults(self):
        conf = cfg.ConfigOpts()
        register_module(conf, api)
        conf([])
        self.assertEqual(connection_limits.DEFAULTS, connection_limits.read_limits(conf.api))

    def test_connections_are_limited_by_file_descriptors(self):
        said = self.useFixture(fixtures.FakeLogger())
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = connection_limits.Limits(connections=10)
        self.assertIs(few, few.fitting())
        self.assertEqual('', said.output)
        if soft > 0:
            many = connection_limits.Limits(connections=soft + 1, body=7.0).fitting()
            self.assertEqual((soft * 3 // 4, 7.0), (many.connections, many.body))
            self.assertIn('LimitNOFILE', said.output)
