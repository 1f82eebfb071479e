# SPDX-License-Identifier: Apache-2.0
"""A database that is away is known for that, whichever it is: what was under way is tried again, and callers get 503."""

import socket

import testscenarios
import testtools
from oslo_config import cfg

from manila_lite import conf as options
from manila_lite.db import engine


class Away(testscenarios.WithScenarios, testtools.TestCase):

    scenarios = [(scheme, {'scheme': scheme}) for scheme in ('postgresql+psycopg2', 'mysql+pymysql')]

    def test_nobody_listens(self):
        conf = options.register(cfg.ConfigOpts())
        conf([], project='manila_lite', default_config_files=[], default_config_dirs=[])
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            conf.set_override('connection', f'{self.scheme}://u:p@127.0.0.1:{taken.getsockname()[1]}/d', 'database')
            conf.set_override('max_retries', 0, 'database')
            bad = self.assertRaises(engine.TRANSIENT, self.ask, engine.Database(conf))
        self.assertIsInstance(bad, engine.UNUSABLE)

    @staticmethod
    def ask(database):
        with database.reader():
            pass
