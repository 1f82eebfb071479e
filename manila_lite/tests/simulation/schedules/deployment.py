# SPDX-License-Identifier: Apache-2.0
"""The deployment of histories of schedules: all tables, times of hours, and a policy."""

import datetime
import json
import typing

from manila_lite import policies
from manila_lite.tests.simulation import environment
from manila_lite.tests.simulation.shares import deployment

_SCHEDULES = 'SELECT id, next_run_at, failing_since FROM schedules'
_COPIES = """
SELECT c.resource_id, c.schedule_id, c.source_id, c.run_at, s.status
FROM schedule_copies c LEFT JOIN snapshots s ON s.id = c.resource_id ORDER BY c.rowid"""
#: Copies from which a share is being made at this moment.
_HELD = """
SELECT s.snapshot_id FROM shares s JOIN share_instances i ON i.share_id = s.id
WHERE s.snapshot_id IS NOT NULL AND i.status = 'creating'"""
_OWN = """
SELECT s.id, s.status FROM snapshots s WHERE NOT EXISTS (SELECT 1 FROM schedule_copies c WHERE c.resource_id = s.id)"""


def time(text):
    """Return a time of the table."""
    return None if text is None else datetime.datetime.fromisoformat(text)


class Schedule(typing.NamedTuple):
    """A schedule's row."""

    id: str
    next: datetime.datetime
    failing: str


class Copy(typing.NamedTuple):
    """What a schedule made, with its status; None: it is gone."""

    id: str
    schedule: str
    source: str
    run_at: datetime.datetime
    status: str


class Table(deployment.Table):
    """Access to operations, schedules and snapshots."""

    def schedules(self):
        """Return the schedules by id."""
        return {row[0]: Schedule(row[0], time(row[1]), row[2]) for row in self._conn.execute(_SCHEDULES)}

    def copies(self):
        """Return what the schedules made by id, the oldest first."""
        return {row[0]: Copy(*row[:3], time(row[3]), row[4]) for row in self._conn.execute(_COPIES)}

    def held(self):
        """Return the ids of the copies from which a share is being made."""
        return {row[0] for row in self._conn.execute(_HELD)}

    def own(self):
        """Return the statuses of snapshots that no schedule made, by id."""
        return dict(self._conn.execute(_OWN))


def run_at(row):
    """Return the time of the run that an operation is."""
    return time(json.loads(row.data)['run_at'])


class SchedulesDeployment(deployment.SharesDeployment):
    """The deployment that histories of schedules run in."""

    table_class = Table

    def _setUp(self):
        super()._setUp()
        conf = self.services.conf
        for name, value in (('lease', 60.0), ('poll_interval', 60.0), ('retry_delay', 5.0)):
            conf.set_override(name, value, 'operations')
        self.enforcer = policies.make_enforcer(conf)

    def use(self, history):
        """Give the clocks the history's epoch, too."""
        super().use(history)
        self.set_epoch(history.model.epoch if history else environment.EPOCH)

    def set_epoch(self, epoch):
        """Set all clocks: they show what has passed since then."""
        self._clock.epoch = epoch
