# SPDX-License-Identifier: Apache-2.0
"""Pages of long lists, and the points of charts, are found by indexes: no database reads all rows for a few, or sorts them."""

import datetime
import urllib.parse

import sqlalchemy as sa
from oslo_utils import timeutils, units, uuidutils

from manila_lite import values
from manila_lite.db import models
from manila_lite.db.queries import schedules
from manila_lite.tests.functional import base, efforts

#: Rows of the long tables; and of these, rows that the database may look at for a page, and what it may do for each: see
#: ``efforts``.
MANY, LOOKED_AT, FOR_EACH = 10_000, 200, 6
PROJECTS, BACKENDS = 10, ('alpha', 'beta')
#: A project, and a pool, of a few shares.
FEW, SMALL, SMALL_POOL = 20, 'small', 'test@other#pool'
_HOUR = datetime.timedelta(hours=1)


class Plans(base.ServiceTest):
    PARTS = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.db = cls.service.services.db
        cls.now = timeutils.utcnow()
        with cls.db.writer() as conn:
            type_id = conn.execute(sa.select(models.share_types.c.id)).scalar_one()
            cls.shares = cls.share_rows(conn, type_id)
            cls.history(conn)
            cls.copies(conn, cls.schedules(conn))
            cls.operations(conn)
        efforts.learn(cls.db.engine)

    @classmethod
    def share_rows(cls, conn, type_id):
        """Write shares that are full in different measure; return their ids."""
        rows = []
        for number in range(MANY + FEW):
            small = number >= MANY
            rows.append(
                {
                    'id': uuidutils.generate_uuid(),
                    'instance': uuidutils.generate_uuid(),
                    'project': SMALL if small else f'p{number % PROJECTS}',
                    'host': SMALL_POOL
                    if small
                    else f'test@{BACKENDS[number // PROJECTS % len(BACKENDS)]}#pool',
                    'percent': number * 7919 % 10_000 / 100,
                }
            )
        conn.execute(
            models.shares.insert(),
            [
                {'id': row['id'], 'project_id': row['project'], 'size': 1, 'share_proto': 'NFS'}
                for row in rows
            ],
        )
        conn.execute(
            models.share_instances.insert(),
            [
                {
                    'id': row['instance'],
                    'share_id': row['id'],
                    'host': row['host'],
                    'status': 'available',
                    'access_rules_status': 'active',
                    'share_type_id': type_id,
                }
                for row in rows
            ],
        )
        conn.execute(
            models.share_usage.insert(),
            [
                {
                    'share_id': row['id'],
                    'measured_at': cls.now,
                    'used_bytes': int(units.Gi * row['percent'] / 100),
                    'limit_bytes': units.Gi,
                    'percent_full': row['percent'],
                }
                for row in rows
            ],
        )
        return [row['id'] for row in rows]

    @classmethod
    def history(cls, conn):
        """Write all the hours of some shares, and of sums."""
        hours = next(one for one in values.SERIES if one.name == 'hours')
        points = [
            {
                'resolution': hours.seconds,
                'slot': hours.slot(at),
                'measured_at': at,
                'used_bytes': 1,
                'limit_bytes': 2,
                'snapshot_bytes': 0,
            }
            for at in (cls.now - number * _HOUR for number in range(hours.slots - 1))
        ]
        for share in cls.shares[: MANY // 500]:
            conn.execute(
                models.share_usage_history.insert(), [point | {'share_id': share} for point in points]
            )
        for kind, owners in (('project', PROJECTS), ('pool', PROJECTS)):
            for number in range(owners):
                owner = f'p{number}' if kind == 'project' else f'test@alpha#pool{number}'
                conn.execute(
                    models.share_usage_sums.insert(),
                    [point | {'kind': kind, 'owner': owner, 'shares': 1} for point in points],
                )

    @classmethod
    def schedules(cls, conn):
        """Write schedules of many projects, of which a few are due; return their ids."""
        ids = [uuidutils.generate_uuid() for _ in range(MANY)]
        conn.execute(
            models.schedules.insert(),
            [
                {
                    'id': ids[number],
                    'created_at': cls.now - number * datetime.timedelta(seconds=1),
                    'project_id': f'p{number % PROJECTS}' if number >= FEW else SMALL,
                    'name': f's{number}',
                    'action': 'snapshot',
                    'cron': '0 0 * * *',
                    'time_zone': 'UTC',
                    'jitter': 0,
                    'missed': 'once',
                    'keep': {'last': 1},
                    'next_run_at': cls.now + (-_HOUR if number % 1000 == 0 else _HOUR),
                }
                for number in range(MANY)
            ],
        )
        return ids

    @classmethod
    def copies(cls, conn, schedules):
        """Write a snapshot of each share, made by the schedule of its number."""
        rows = [
            {
                'id': uuidutils.generate_uuid(),
                'share_id': share,
                'project_id': f'p{number % PROJECTS}' if number >= FEW else SMALL,
                'status': 'available',
                'size': 1,
                'share_size': 1,
                'share_proto': 'NFS',
                'schedule_id': schedule,
            }
            for number, (share, schedule) in enumerate(zip(cls.shares, schedules, strict=False))
        ]
        conn.execute(
            models.snapshots.insert(),
            [{name: value for name, value in row.items() if name != 'schedule_id'} for row in rows],
        )
        conn.execute(
            models.schedule_copies.insert(),
            [
                {
                    'resource_id': row['id'],
                    'resource_type': 'snapshot',
                    'schedule_id': row['schedule_id'],
                    'source_id': row['share_id'],
                    'run_at': cls.now,
                }
                for row in rows
            ],
        )

    @classmethod
    def operations(cls, conn):
        """Write an operation on each share that has ended, as all but a few have."""
        conn.execute(
            models.operations.insert(),
            [
                {
                    'id': uuidutils.generate_uuid(),
                    'created_at': cls.now - number * datetime.timedelta(seconds=1),
                    'finished_at': cls.now,
                    'kind': 'share.extend',
                    'resource_type': 'share',
                    'resource_id': share,
                    'project_id': f'p{number % PROJECTS}' if number >= FEW else SMALL,
                    'topic': 'share',
                    'host': '',
                    'lane': 'work',
                    'state': 'done',
                    'data': {},
                    'next_run_at': cls.now,
                }
                for number, share in enumerate(cls.shares)
            ],
        )

    def assert_cheap(self, ask, table, among=LOOKED_AT):
        """Check that what is asked of this table is found among so many of its rows."""
        asked = [
            (text, given)
            for text, given in efforts.sent(self.db.engine, ask)
            if f'FROM {table}' in ' '.join(text.split())
        ]
        self.assertNotEqual([], asked, 'it asked nothing')
        effort = sum(efforts.of(self.db.engine, *one) for one in asked)
        self.assertLess(effort, FOR_EACH * among, asked)

    def listed(self, caller, path, count, table='share_usage', among=LOOKED_AT):
        """Check that a list is cheap, and has so many rows."""

        def ask():
            rows, *_ = caller.ok('GET', path).values()
            self.assertEqual(count, len(rows), path)

        self.assert_cheap(ask, table, among)

    def test_copies_of_a_share_cost_as_much_as_it_has(self):
        for share in self.shares[FEW], self.shares[MANY // 2]:
            self.listed(self.admin, f'/shares/{share}/schedule-copies', 1, 'schedule_copies')

    def test_pages_of_the_fullest_shares(self):
        query = '/share-usage?limit=10'
        for path in ('', '&min_percent=95', f'&marker={self.shares[5000]}'):
            self.listed(self.admin, f'{query}&all_tenants=1{path}', 10)

    def test_pages_of_the_fullest_shares_of_a_project_or_a_backend_cost_as_much_as_it_has_shares(self):
        query = '/share-usage?limit=10'
        for project in ('p3', SMALL):
            for path in ('', '&min_percent=20'):
                self.listed(self.caller(project), f'{query}{path}', 10, among=MANY // PROJECTS)
        for host, shares in (('test@alpha', MANY // len(BACKENDS)), (SMALL_POOL, LOOKED_AT)):
            path = f'{query}&all_tenants=1&host={urllib.parse.quote(host)}'
            self.listed(self.admin, path, 10, among=shares)

    def test_all_shares_of_a_small_project(self):
        self.listed(self.caller(SMALL), '/share-usage', FEW)

    def test_points_of_charts(self):
        hours = next(one for one in values.SERIES if one.name == 'hours').slots - 1
        for path, table in (
            (f'/share-usage/{self.shares[3]}/history', 'share_usage_history'),
            ('/project-usage/p3/history', 'share_usage_sums'),
            ('/pool-usage/test@alpha%23pool1/history', 'share_usage_sums'),
        ):
            self.listed(self.admin, path, hours, table, among=hours)

    def test_sums_of_a_small_project_and_of_a_small_pool(self):
        self.listed(self.caller(SMALL), '/project-usage', 1)
        path = f'/pool-usage/{urllib.parse.quote(SMALL_POOL)}'
        self.assert_cheap(lambda: self.admin.ok('GET', path), 'share_usage')

    def test_pages_of_schedules(self):
        for project in ('p3', SMALL):
            for path in ('', '&offset=5'):
                self.listed(self.caller(project), f'/schedules?limit=10{path}', 10, 'schedules')
        self.listed(self.admin, '/schedules?limit=10&all_tenants=1', 10, 'schedules')

    def test_pages_of_operations(self):
        for project in ('p3', SMALL):
            for path in ('', '&resource_type=share', '&offset=5'):
                self.listed(self.caller(project), f'/operations?limit=10{path}', 10, 'operations')
        self.listed(self.admin, '/operations?limit=10&all_projects=1', 10, 'operations')

    def test_schedules_whose_time_has_come(self):
        def ask():
            with self.db.reader() as conn:
                self.assertEqual(MANY // 1000, len(schedules.list_due(conn, self.now, 100)))

        self.assert_cheap(ask, 'schedules')
