# SPDX-License-Identifier: Apache-2.0
"""The cloud that pictures of the console show: two backends, share types, and shares of two projects with what they have."""

import contextlib
import datetime
import itertools
import sqlite3

from manila_lite.drivers.dummy import store
from manila_lite.tests import hush, process, waiting
from manila_lite.tests.factories import use

_CONFIG = """
[DEFAULT]
host = stor1
enabled_share_backends = fast,archive
enabled_backup_types = vault
capability_interval = 1
[fast]
driver = dummy
dummy_thin_provisioning = true
share_usage_interval = 0
[archive]
driver = dummy
dummy_thin_provisioning = true
share_usage_interval = 0
[console]
enabled = true
[api]
noauth_project = climate
[quota]
snapshot_gigabytes = 4000
"""

ROLES = 'admin,member,reader'
#: Name, GiB and type of each share, and how many percent of it are used; the first has rules and snapshots.
_SHARES = (
    ('model-runs', 200, 'default', 62),
    ('home', 50, 'default', 88),
    ('sensor-data', 400, 'archive', 35),
    ('papers', 10, 'default', 12),
    ('results-2026', 120, 'archive', 71),
)
_RULES = ('192.0.2.0/24', '198.51.100.17', '2001:db8:7::/64')
#: Days since each snapshot by hand, and since those by schedule.
_SNAPSHOTS = {'monday': 6.4, 'before the upgrade': 1.2}
_NIGHTS = (5, 4, 3, 2, 1, 0)


class Cloud(process.Lite):
    """A service with all of that."""

    def __init__(self):
        super().__init__(_CONFIG, token=f'ana:climate:{ROLES}:{hush.MARK}token')

    def fill(self):
        """Make it. Return the id of the first share."""
        self._types()
        shares = [self._share(name, size, kind) for name, size, kind, _ in _SHARES]
        for share_id, (_, size, _, percent) in zip(shares, _SHARES, strict=True):
            use.grow(self.state / 'manila_lite.sqlite', share_id, size, percent)
        for who, level in zip(_RULES, itertools.cycle(('rw', 'ro'))):
            rule = {'access_type': 'ip', 'access_to': who, 'access_level': level}
            self.ok('POST', f'/shares/{shares[0]}/action', {'allow_access': rule})
        self._past(shares)
        self.ok('POST', '/share-networks', {'share_network': {'name': 'blue'}})
        self._another_project()
        self._attention(shares[-1])
        self._hold()
        return shares[0]

    def _hold(self):
        """Set the use of each share at its backend: by the table, 50 % in the other project. Wait for the reports."""
        percents = {size: percent for _, size, _, percent in _SHARES}
        for backend in ('fast', 'archive'):
            disk = store.Store(self.state / backend)
            with disk.locked():
                for record in disk.shares.all():
                    record.used = record.size * percents.get(record.size, 50) / 100
                    disk.shares.put(record)
        pools = '/scheduler-stats/pools/detail'
        waiting.until(
            lambda: all(
                pool['capabilities']['free_capacity_gb'] < pool['capabilities']['total_capacity_gb']
                for pool in self.ok('GET', pools)['pools']
            ),
            'what the pools hold',
        )

    def _types(self):
        """Make the types, and wait for the pools."""
        for name, backend in (('default', 'fast'), ('archive', 'archive')):
            specs = {**process.DEFAULT_TYPE['share_type']['extra_specs'], 'share_backend_name': backend}
            self.ok('POST', '/types', {'share_type': {'name': name, 'extra_specs': specs}})
        waiting.until(lambda: len(self.ok('GET', '/scheduler-stats/pools')['pools']) == 2, 'two pools')

    def _share(self, name, size, kind, until='available', **more):
        body = {'share': {'size': size, 'share_proto': 'NFS', 'name': name, 'share_type': kind}}
        made = self.ok('POST', '/shares', body, **more)['share']['id']
        self.wait(f'/shares/{made}', 'share', until)
        return made

    def _past(self, shares):
        """Make schedules, and points of the first share as if they had been made in the last days."""
        nightly = {
            'name': 'nightly',
            'cron': '0 3 * * *',
            'time_zone': 'Europe/Berlin',
            'share_ids': shares[:2],
        }
        archive = {
            'name': 'archive',
            'cron': '30 1 * * 6',
            'action': 'share_backup',
            'share_metadata': {'kept': 'years'},
        }
        hourly = {'name': 'hourly', 'cron': '0 * * * *', 'keep': {'hour': 24}, 'paused': True}
        made = [
            self.ok('POST', '/schedules', {'schedule': {'keep': {'day': 7, 'week': 4, 'month': 12}} | body})[
                'schedule'
            ]
            for body in (nightly, archive, hourly)
        ]
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        body = {'share_backup': {'share_id': shares[0], 'name': 'off-site'}}  # not while there are snapshots
        backup = self.ok('POST', '/share-backups', body)['share_backup']['id']
        self.wait(f'/share-backups/{backup}', 'share_backup', 'available')
        self._date('share_backups', backup, now - datetime.timedelta(days=9))
        for name, days in sorted(_SNAPSHOTS.items(), key=lambda pair: -pair[1]):
            self._snapshot(shares[0], name, now - datetime.timedelta(days=days))
        for days in _NIGHTS:
            at = now.replace(hour=2, minute=0, second=5) - datetime.timedelta(days=days + (now.hour < 2))
            copy = self._snapshot(shares[0], f'scheduled-{at:%Y-%m-%d}-0300', at)
            self._write('INSERT INTO schedule_copies (resource_id, schedule_id, resource_type, source_id, run_at, was_good) '
                        "VALUES (?, ?, 'snapshot', ?, ?, 1)", copy, made[0]['id'], shares[0], str(at))  # fmt: skip

    def _snapshot(self, share_id, name, at):
        body = {'snapshot': {'share_id': share_id, 'name': name}}
        made = self.ok('POST', '/snapshots', body)['snapshot']['id']
        self.wait(f'/snapshots/{made}', 'snapshot', 'available')
        self._date('snapshots', made, at)
        return made

    def _date(self, table, resource_id, at):
        self._write(f'UPDATE {table} SET created_at = ? WHERE id = ?', str(at), resource_id)

    def _write(self, statement, *values):
        database = self.state / 'manila_lite.sqlite'
        with contextlib.closing(sqlite3.connect(database, timeout=waiting.LIMIT)) as rows, rows:
            rows.execute(statement, values)

    def _another_project(self):
        token = f'ben:genome:{ROLES}:{hush.MARK}token'
        for name, size in (('reads', 300), ('references', 80)):
            self._share(name, size, 'default', token=token)

    def _attention(self, share):
        """Have a share that could not be made, and one that grows as long as pictures are taken."""
        self.knobs('create_share:fail', backend='fast')
        self._share('scratch', 30, 'default', until='error')
        self.knobs('extend_share:delay=3600', backend='archive')
        self.ok('POST', f'/shares/{share}/action', {'extend': {'new_size': 160}})
