# SPDX-License-Identifier: Apache-2.0
"""A schedule of a service that is a process, whose times come when a test says so."""

import contextlib
import datetime
import sqlite3

from manila_lite.tests import waiting
from manila_lite.tests.functional.schedules.scheduling import NEVER

#: For the end of a configuration.
OFTEN = '\n[scheduler]\nschedule_interval = 0.5\n'
_FIRST = datetime.datetime.fromisoformat('2026-01-01T00:00')


class Schedule:
    """A schedule of one share. ``lite``: the service, with its database below ``state``."""

    def __init__(self, lite, state, share, **values):
        self._lite, self._database, self._share = lite, state / 'manila_lite.sqlite', share
        body = {'cron': NEVER, 'share_ids': [share], **values}
        self.id = lite.ok('POST', '/schedules', {'schedule': body})['schedule']['id']
        self._runs = 0

    def run(self):
        """Let a time come, an hour after the one before, and wait until it is run."""
        self._runs += 1
        at = _FIRST + datetime.timedelta(hours=self._runs)
        with contextlib.closing(sqlite3.connect(self._database, timeout=waiting.LIMIT)) as db, db:
            db.execute('UPDATE schedules SET next_run_at = ? WHERE id = ?', (f'{at}.000000', self.id))
        wanted = at.isoformat(timespec='microseconds')
        waiting.until(lambda: self.show()['last_run_at'] == wanted, lambda: f'a run\n{self._lite.tail()}')
        if problem := self.show()['problem']:
            raise AssertionError(problem)

    def show(self):
        """Return the schedule."""
        return self._lite.ok('GET', f'/schedules/{self.id}')['schedule']

    def kept(self, count):
        """Wait until so many snapshots are there; return their ids, the oldest first."""
        path = f'/snapshots/detail?share_id={self._share}&sort_dir=asc'

        def found():
            rows = self._lite.ok('GET', path)['snapshots']
            return len(rows) == count and rows

        rows = waiting.until(found, lambda: f'{count} snapshots\n{self._lite.tail()}')
        names = [one['name'] for one in rows]
        wanted = [f'scheduled-2026-01-01-{self._runs - count + number + 1:02}00' for number in range(count)]
        if names != wanted or {one['status'] for one in rows} != {'available'}:
            raise AssertionError(f'{names}, not {wanted}')
        return [one['id'] for one in rows]

    def rules(self, snapshot):
        """Return the access rules of a snapshot."""
        return self._lite.ok('GET', f'/snapshots/{snapshot}/access-list')['snapshot_access_list']

    def export(self, snapshot):
        """Return the directory of a snapshot's export."""
        found = self._lite.ok('GET', f'/snapshots/{snapshot}/export-locations')
        return found['share_snapshot_export_locations'][0]['path'].rpartition(':')[2]

    def delete(self):
        """Delete the schedule."""
        self._lite.ok('DELETE', f'/schedules/{self.id}')
