# SPDX-License-Identifier: Apache-2.0
"""The deployment that histories run in, one after the other: a database, and the clock of the process."""

import logging
import os
import random

import fixtures
from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite import context
from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.core import engine
from manila_lite.tests.simulation import environment, rows, sql, strangers

_CONFIG = """
[DEFAULT]
state_path = {state}
[database]
connection = sqlite:///{state}/simulation.sqlite
sqlite_synchronous_full = false
sqlite_pool_size = 40
[operations]
workers = 2
fast_workers = 1
lease = 6
poll_interval = 2
max_attempts = 3
retry_delay = 0.5
{more}"""


class Deployment(fixtures.Fixture):
    """A database with tables, whose statements are points of the history in ``use``."""

    more = ''  # configuration
    table_class = rows.Table

    def _setUp(self):
        self._stay_on_one_processor()
        state = self.useFixture(fixtures.TempDir()).join('')
        config = f'{state}/manila_lite.conf'
        with open(config, 'w', encoding='utf-8') as file:
            file.write(_CONFIG.format(state=state, more=self.more))
        conf = setup.configure(
            [f'--config-file={config}'], transport_url='inproc://', conf=cfg.ConfigOpts(), logged=False
        )
        self._turn = environment.Lock()
        db = engine.Database(conf, lock=lambda: self._turn)
        self.addCleanup(db.dispose)
        self._make_tables(db)
        self._wire = sql.Wire(self._turn)
        sql.connect_through(db, self._wire)
        self.table = self.table_class(f'{state}/simulation.sqlite')
        self.addCleanup(self.table.close)
        self.services = context.Services(conf=conf, db=db)
        self._clock = environment.Clock()
        self._wire.time = self._clock.of_database
        timeutils.set_time_override(self._clock)
        self.addCleanup(timeutils.clear_time_override)
        self._watch_logs()
        self.useFixture(fixtures.MonkeyPatch('oslo_db.api.time', self._clock))  # sleeps before it repeats
        self.useFixture(fixtures.MonkeyPatch('oslo_db.api.random', self._clock))

    def _watch_logs(self):
        """Let histories see each logged warning or error, and nobody else."""
        self._watch = strangers.Watch()
        self.addCleanup(logging.disable, logging.root.manager.disable)
        logging.disable(logging.INFO)
        for log in map(logging.getLogger, ('manila_lite', 'oslo_db')):
            self.addCleanup(vars(log).update, level=log.level, propagate=log.propagate, handlers=log.handlers)
            log.propagate, log.handlers = False, [self._watch]
            log.setLevel(logging.WARNING)

    def _stay_on_one_processor(self):
        """Keep all threads on the same processor: one runs at a time, and to wake one up elsewhere takes longer."""
        processors = sorted(os.sched_getaffinity(0))
        self.addCleanup(os.sched_setaffinity, 0, processors)
        os.sched_setaffinity(0, {random.SystemRandom().choice(processors)})

    def _make_tables(self, db):
        models.operations.create(db.engine)

    def is_writing(self):
        """Say whether the running thread has begun to write: until it ends, nobody else can."""
        return self._turn.is_held_here()

    def use(self, history):
        """Give statements, clocks and locks to this history, or to none."""
        self._wire.history = history
        self._clock.baton = self._watch.baton = history and history.baton
        self._turn.use(history and history.baton)
