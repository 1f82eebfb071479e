# SPDX-License-Identifier: Apache-2.0
"""A bus for each test."""

import time

import testtools
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite.rpc import transport


class BusTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.conf = options.register(cfg.CONF)
        self.conf([], project='manila_lite', default_config_files=[])
        self.addCleanup(self.conf.reset)
        transport.set_defaults(self.conf)
        self.use_url(f'inproc:///{self.id()}-{time.monotonic_ns()}')
        self.addCleanup(transport.cleanup)

    def use_url(self, url):
        self.conf.set_override('transport_url', url)
        self.addCleanup(self.conf.clear_override, 'transport_url')
