# SPDX-License-Identifier: Apache-2.0
"""How full shares are: who sees it, what is kept of it, and what it costs."""

import datetime

import sqlalchemy as sa
from oslo_utils import fixture as clock
from oslo_utils import timeutils, units

from manila_lite import values
from manila_lite.db import models
from manila_lite.db.queries import share_usage
from manila_lite.drivers import interface
from manila_lite.manager.runtime.share_usage import UsageCollector
from manila_lite.tests.factories import shares
from manila_lite.tests.functional import base
from manila_lite.tests.functional.api.test_budgets import counting
from manila_lite.tests.services import hearing

HOST = 'test@alpha'
#: The path of its pool.
POOL = '/pool-usage/test@alpha%23pool1'


class UsageTest(base.ServiceTest):
    """Shares that are measured when the test says so."""

    EXTRA = 'share_usage_interval = 0\n'

    def setUp(self):
        super().setUp()
        manager = self.service.managers['alpha']
        self.driver = manager.driver
        self.collector = UsageCollector(self.service.services, manager.host, self.driver)

    def made(self, caller, gib, size=4, **values):
        """Return the id of a new share that holds so many GiB."""
        share = caller.share(size=size, **values)
        self.addCleanup(self.drop, share['id'])
        self.fill(share['id'], gib)
        return share['id']

    def drop(self, share_id):
        """Delete the share if that is possible, and wait: it counts in the sums of the next test otherwise."""
        if self.admin.call('DELETE', f'/shares/{share_id}')[0] == 202:
            self.admin.wait(f'/shares/{share_id}', 'share', 'gone')

    def fill(self, share_id, gib):
        with self.service.services.db.reader() as conn:
            instance = conn.execute(
                sa.select(models.share_instances.c.id).where(models.share_instances.c.share_id == share_id)
            ).scalar_one()
        self.driver.write(instance, 'words', used=gib)

    def read(self, query):
        with self.service.services.db.reader() as conn:
            return conn.execute(query).all()


class Tenants(UsageTest):
    def setUp(self):
        super().setUp()
        self.mine, self.other = self.caller('mine'), self.caller('other')

    def test_project_sees_its_own_shares_and_no_others(self):
        mine, theirs = self.made(self.mine, 1), self.made(self.other, 2)
        self.collector.collect()
        for path in (f'/share-usage/{theirs}', f'/share-usage/{theirs}/history'):
            self.assertEqual(404, self.mine.call('GET', path)[0])
            self.assertEqual(200, self.admin.call('GET', path)[0])
        for query in ('', '?all_tenants=1', '?all_tenants=1&project_id=other', '?project_id=other'):
            [row] = self.mine.ok('GET', f'/share-usage{query}')['share_usage']
            self.assertEqual((mine, 'mine'), (row['share_id'], row['project_id']))
            self.assertNotIn('host', row)
            [project] = self.mine.ok('GET', f'/project-usage{query}')['project_usage']
            self.assertEqual(('mine', 1), (project['project_id'], project['shares']))
        self.assertEqual(404, self.mine.call('GET', '/project-usage/other/history')[0])
        for path in ('/pool-usage', POOL, f'{POOL}/history', f'/share-usage?host={HOST}'):
            self.assertEqual(403, self.mine.call('GET', path)[0], path)
        for path in ('/share-usage', f'/share-usage/{mine}', '/project-usage'):
            self.assertEqual(403, self.caller('mine', roles='nobody').call('GET', path)[0], path)

    def test_public_share_of_another_project_does_not_tell(self):
        public = self.made(self.other, 1)
        self.admin.ok('PUT', f'/shares/{public}', {'share': {'is_public': True}})
        self.collector.collect()
        self.assertEqual(200, self.mine.call('GET', f'/shares/{public}')[0])
        self.assertEqual(403, self.mine.call('GET', f'/share-usage/{public}')[0])
        self.assertEqual([], self.mine.ok('GET', '/share-usage')['share_usage'])

    def test_administrator_sees_all_projects_and_pools(self):
        mine, theirs = self.made(self.mine, 1), self.made(self.other, 2)
        self.collector.collect()
        rows = self.admin.ok('GET', f'/share-usage?all_tenants=1&host={HOST}')['share_usage']
        self.assertEqual([theirs, mine], [row['share_id'] for row in rows])
        self.assertEqual({f'{HOST}#pool1'}, {row['host'] for row in rows})
        projects = self.admin.ok('GET', '/project-usage?all_tenants=1')['project_usage']
        self.assertEqual(['other', 'mine'], [row['project_id'] for row in projects])
        [pool] = self.admin.ok('GET', '/pool-usage')['pool_usage']
        reported = next(
            one['capabilities']
            for one in self.admin.ok('GET', '/scheduler-stats/pools/detail')['pools']
            if one['name'] == f'{HOST}#pool1'
        )
        self.assertEqual(
            {
                'host': f'{HOST}#pool1',
                'shares': 2,
                'used_bytes': 3 * units.Gi,
                'limit_bytes': 8 * units.Gi,
                'snapshot_bytes': 0,
                'capacity_bytes': reported['total_capacity_gb'] * units.Gi,
                'free_bytes': reported['free_capacity_gb'] * units.Gi,
            },
            pool,
        )
        shown = self.admin.ok('GET', POOL)['pool_usage']
        self.assertEqual({**pool, 'full_in_days': None}, shown)
        self.assertEqual(404, self.admin.call('GET', '/pool-usage/test@alpha%23none')[0])

    def test_share_that_was_not_measured_is_said_to_be_unknown(self):
        share = self.made(self.mine, 1)
        status, document, _ = self.mine.call('GET', f'/share-usage/{share}')
        self.assertEqual(404, status)
        self.assertIn('is not known', str(document))
        self.assertEqual([], self.mine.ok('GET', f'/share-usage/{share}/history')['history'])

    def test_shares_in_the_bin_and_deferred_deletions_are_not_listed(self):
        binned, gone = self.made(self.mine, 1), self.made(self.mine, 1)
        self.collector.collect()
        self.assertEqual(202, self.mine.action(binned, 'soft_delete')[0])
        self.assertEqual(
            [gone], [row['share_id'] for row in self.mine.ok('GET', '/share-usage')['share_usage']]
        )
        self.mine.ok('DELETE', f'/shares/{gone}')
        self.assertEqual([], self.mine.ok('GET', '/share-usage')['share_usage'])
        kept = sa.select(sa.func.count()).select_from(models.share_usage_history)
        self.assertEqual([(0,)], self.read(kept.where(models.share_usage_history.c.share_id == gone)))


class Sums(UsageTest):
    """What the shares of a project and of a pool took together."""

    def history(self, caller, path, resolution='hours'):
        return caller.ok('GET', f'{path}/history?resolution={resolution}')['history']

    def test_history_of_projects_and_pools_has_the_sums_and_outlives_shares(self):
        mine, other = self.caller('mine'), self.caller('other')
        first = self.made(mine, 1)
        self.made(mine, 2)
        self.made(other, 3)
        self.collector.collect()
        for resolution in ('minutes', 'hours', 'days'):
            for caller, path, wanted in (
                (mine, '/project-usage/mine', (2, 3, 8)),
                (self.admin, '/project-usage/other', (1, 3, 4)),
                (self.admin, POOL, (3, 6, 12)),
            ):
                *_, point = self.history(caller, path, resolution)  # five minutes may begin meanwhile
                found = point['shares'], point['used_bytes'] // units.Gi, point['limit_bytes'] // units.Gi
                self.assertEqual(wanted, found, (path, resolution))
        mine.ok('DELETE', f'/shares/{first}')
        mine.wait(f'/shares/{first}', 'share', 'gone')
        self.assertEqual(2, self.history(mine, '/project-usage/mine')[-1]['shares'])
        self.assertEqual([], self.history(self.admin, '/project-usage/nobody'))
        self.assertEqual([], self.history(self.admin, '/pool-usage/test@alpha%23none'))
        self.assertEqual(400, mine.call('GET', '/project-usage/mine/history?resolution=weeks')[0])

    def test_pool_is_full_in_some_days_and_old_points_go(self):
        self.made(self.caller('mine'), 1)
        rows = models.share_usage_sums
        with self.service.services.db.writer() as conn:
            conn.execute(rows.delete())  # those of other tests may be of another hour
        now = timeutils.utcnow()
        self.collector.collect()
        of_pool = rows.select().where(rows.c.kind == 'pool', rows.c.resolution == 3600)
        [last] = self.read(of_pool)
        old = {
            **last._mapping,
            'slot': (last.slot - 2) % 744,
            'measured_at': now - datetime.timedelta(hours=2),
            'used_bytes': 0,
        }
        gone = {**old, 'owner': 'test@alpha#gone', 'measured_at': now - datetime.timedelta(days=32)}
        with self.service.services.db.writer() as conn:
            conn.execute(rows.insert(), [old, gone])
        shown = self.admin.ok('GET', POOL)['pool_usage']
        wanted = shown['free_bytes'] / units.Gi * 2 / 24
        self.assertAlmostEqual(wanted, shown['full_in_days'], delta=wanted / 20)
        UsageCollector(self.service.services, HOST, self.driver).collect()
        self.assertEqual([], self.read(rows.select().where(rows.c.owner == gone['owner'])))
        [newest, *_] = self.read(of_pool.order_by(rows.c.measured_at.desc()))
        began_an_hour = newest.slot != last.slot
        self.assertEqual(2 + began_an_hour, len(self.history(self.admin, POOL)))


class Figures(UsageTest):
    def test_figures_are_those_of_the_backend(self):
        caller = self.caller('figures')
        share = self.made(caller, 1)
        snapshot = caller.ok('POST', '/snapshots', {'snapshot': {'share_id': share}})['snapshot']['id']
        caller.wait(f'/snapshots/{snapshot}', 'snapshot', 'available')
        self.addCleanup(caller.ok, 'DELETE', f'/snapshots/{snapshot}')
        self.fill(share, 3)
        self.collector.collect()
        row = caller.ok('GET', f'/share-usage/{share}')['share_usage']
        self.assertEqual(
            {
                'share_id': share,
                'name': None,
                'project_id': 'figures',
                'size': 4,
                'used_bytes': 3 * units.Gi,
                'limit_bytes': 4 * units.Gi,
                'snapshot_bytes': units.Gi,
                'files': 1,
                'percent_full': 75.0,
                'full_in_days': None,
            },
            {name: value for name, value in row.items() if name != 'measured_at'},
        )
        self.fill(share, 2)
        self.collector.collect()
        [listed] = caller.ok('GET', '/share-usage')['share_usage']
        self.assertEqual(50.0, listed['percent_full'])
        for resolution in ('minutes', 'hours', 'days'):
            points = caller.ok('GET', f'/share-usage/{share}/history?resolution={resolution}')['history']
            self.assertIn(
                points[0]['used_bytes'], (3 * units.Gi, 2 * units.Gi)
            )  # a new hour may just have begun
        self.assertEqual(400, caller.call('GET', f'/share-usage/{share}/history?resolution=weeks')[0])

    def test_a_share_that_is_new_between_two_points_has_a_history_at_once(self):
        caller = self.caller('between')
        self.collector.collect()
        share = self.made(caller, 1)
        self.collector.collect()
        for resolution in ('minutes', 'hours', 'days'):
            for path in (f'/share-usage/{share}', '/project-usage/between'):
                points = caller.ok('GET', f'{path}/history?resolution={resolution}')['history']
                self.assertEqual([units.Gi], [point['used_bytes'] for point in points], (path, resolution))

    def test_list_is_sorted_by_fullness_and_read_page_by_page(self):
        caller = self.caller('pages')
        made = [self.made(caller, gib) for gib in (1, 3, 2, 2, 0)]
        self.collector.collect()
        wanted = caller.ok('GET', '/share-usage')['share_usage']
        self.assertEqual([75.0, 50.0, 50.0, 25.0, 0.0], [row['percent_full'] for row in wanted])
        self.assertEqual({*made}, {row['share_id'] for row in wanted})
        seen, marker = [], ''
        while page := caller.ok('GET', f'/share-usage?limit=2{marker}')['share_usage']:
            seen += page
            marker = f'&marker={page[-1]["share_id"]}'
        self.assertEqual(wanted, seen)
        fuller = caller.ok('GET', '/share-usage?min_percent=50')['share_usage']
        self.assertEqual([75.0, 50.0, 50.0], [row['percent_full'] for row in fuller])
        self.assertEqual(400, caller.call('GET', '/share-usage?sort_key=name')[0])
        self.assertEqual(400, caller.call('GET', '/share-usage?min_percent=many')[0])

    def test_history_is_a_ring_and_tells_when_a_share_is_full(self):
        caller = self.caller('history')
        share = self.made(caller, 0)
        now = timeutils.utcnow()
        begin, number = now - datetime.timedelta(days=33), 33 * 24
        with self.service.services.db.writer() as conn:
            for hour in range(number + 1):
                at = begin + datetime.timedelta(hours=hour)
                used = units.Mi * hour
                row = share_usage.Measured(share, at, used, 4 * units.Gi, None, None, 0.0)
                share_usage.store(conn, [row], values.SERIES[1:])
        of_share = models.share_usage_history.c.share_id == share
        kept = self.read(
            sa.select(models.share_usage_history.c.resolution, sa.func.count())
            .where(of_share)
            .group_by(models.share_usage_history.c.resolution)
            .order_by(models.share_usage_history.c.resolution)
        )
        self.assertEqual([(3600, 31 * 24), (86400, 34)], kept)
        points = caller.ok('GET', f'/share-usage/{share}/history')['history']
        self.assertEqual(number * units.Mi, points[-1]['used_bytes'])
        self.assertEqual(sorted(point['measured_at'] for point in points), [p['measured_at'] for p in points])
        self.assertLessEqual(len(points), 31 * 24)
        left = caller.ok('GET', f'/share-usage/{share}')['share_usage']['full_in_days']
        self.assertAlmostEqual((4096 - number) / 24, left, delta=0.2)

    def test_billing_hears_of_each_share_and_of_each_threshold(self):
        heard = self.useFixture(hearing.Heard(self.service.conf))
        caller = self.caller('billed')
        share = self.made(caller, 1.5, name='bills', description='what is paid for')
        self.collector.collect()
        sent = heard.wait('share.usage', share_id=share, project_id='billed', used_size=1.5, size=4)
        self.assertEqual(f'share.{HOST}', sent['publisher'])
        shown = self.admin.ok('GET', f'/shares/{share}')['share']
        described = {
            name: shown[name]
            for name in (
                *('user_id', 'project_id', 'snapshot_id', 'share_group_id', 'size', 'name', 'description'),
                *('is_public', 'availability_zone', 'host', 'status'),
            )
        }
        payload = sent['payload']
        self.assertEqual(
            described
            | {
                'share_id': share,
                'proto': 'NFS',
                'share_type_id': shown['share_type'],
                'share_type': shown['share_type_name'],
                'used_size': 1.5,
                'used_bytes': 3 * units.Gi // 2,
                'snapshot_bytes': 0,
            },
            {
                name: value
                for name, value in payload.items()
                if name not in ('created_at', 'launched_at', 'gathered_at', 'request_id')
            },
        )
        self.assertEqual(shown['created_at'], payload['created_at'])
        self.assertLessEqual(payload['created_at'], payload['launched_at'])
        self.assertLess(payload['launched_at'], payload['gathered_at'])
        self.fill(share, 3.5)
        self.collector.collect()
        heard.wait('share.usage.threshold', share_id=share, percent_full=87.5)

    def test_share_that_went_meanwhile_is_left_out(self):
        share = self.made(self.caller('meanwhile'), 1)
        row = share_usage.Measured(share, timeutils.utcnow(), 1, 2, None, None, 50.0)
        with self.service.services.db.writer() as conn:
            share_usage.store(conn, [row._replace(share_id='gone'), row], values.SERIES)
        self.assertEqual(
            [], self.read(models.share_usage.select().where(models.share_usage.c.share_id == 'gone'))
        )
        self.assertEqual(50.0, self.admin.ok('GET', f'/share-usage/{share}')['share_usage']['percent_full'])


class Timer(base.ServiceTest):
    """A share manager that measures by itself."""

    EXTRA = 'share_usage_interval = 1\n'

    def test_shares_are_measured_while_work_hangs(self):
        share = self.admin.share(size=1)['id']
        self.service.knob('alpha', 'create_share:hang')
        self.addCleanup(self.service.knob, 'alpha', '')
        self.admin.share(wait=None)
        base.eventually(
            lambda: self.admin.call('GET', f'/share-usage/{share}')[0] == 200, 'the share is measured'
        )

    def test_failed_measurement_is_tried_again(self):
        self.service.knob('alpha', 'measure_usage:fail@times=2')
        self.addCleanup(self.service.knob, 'alpha', '')
        share = self.admin.share(size=1)['id']
        base.eventually(
            lambda: self.admin.call('GET', f'/share-usage/{share}')[0] == 200, 'the share is measured'
        )


class Half(interface.MeasuresUsage):
    """A driver whose shares are all half full."""

    def __init__(self):
        self.calls = 0

    def measure_usage(self, targets):
        self.calls += 1
        return {target.id: values.ShareUsage(units.Gi // 2, units.Gi, 0, 7) for target in targets}


class Costs(base.ServiceTest):
    """A backend with ten thousand shares."""

    EXTRA = 'share_usage_interval = 0\n'
    PARTS = ()
    SHARES = 10_000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with cls.service.services.db.writer() as conn:
            type_id = conn.execute(sa.select(models.share_types.c.id)).scalar_one()
            for number in range(10):
                shares.make(
                    conn,
                    cls.SHARES // 10,
                    type_id=type_id,
                    project=f'p{number}',
                    host=f'{HOST}#pool{number % 2}',
                )

    def test_collection_needs_few_statements(self):
        # No five minutes begin between the collections.
        self.useFixture(clock.TimeFixture(timeutils.utcnow()))
        driver = Half()
        collector = UsageCollector(self.service.services, HOST, driver)
        with counting(self.service.services.db.engine) as first:
            collector.collect()
        with counting(self.service.services.db.engine) as next_one:
            collector.collect()
        self.assertEqual(4, driver.calls)
        # One in five minutes, and twenty statements a minute.
        self.assertLessEqual(len(first.statements), 100)
        self.assertLessEqual(len(next_one.statements), 40, 'nothing new in the history')
        with self.service.services.db.reader() as conn:
            for table, rows in ((models.share_usage, 1), (models.share_usage_history, 3)):
                found = conn.execute(sa.select(sa.func.count()).select_from(table)).scalar()
                self.assertEqual(rows * self.SHARES, found)
