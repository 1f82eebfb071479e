# SPDX-License-Identifier: Apache-2.0
"""Metrics as Prometheus sees them: over HTTP, from real processes, with labels from tables only."""

import datetime
import itertools
import logging
import re
import socket
import sys
import urllib.error
import urllib.request

import fixtures
import sqlalchemy as sa
import testtools
from oslo_db import exception as oslo_db_exception
from oslo_utils import timeutils, units

from manila_lite import metrics, release
from manila_lite.api.v2 import CALLS
from manila_lite.cmd import metrics_collector, metrics_server, monitor
from manila_lite.db import models
from manila_lite.db.queries import metrics_queries, operations
from manila_lite.tests import process, waiting
from manila_lite.tests.functional import base
from manila_lite.tests.process import free_ports
from manila_lite.tests.watching import Scraped

_CONFIG = '[alpha]\ndriver = dummy\n[metrics]\nport = {port}\nports = 4\ncache_seconds = 1\n'
_UUID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-')
#: All values that the label "route" may have.
ROUTES = {f'/v2{path}' for op in CALLS for path in (op.path, op.old_path) if path} | {
    'other',
    'discovery',
    'healthcheck',
}


class OneProcess(testtools.TestCase):
    """The all-in-one process ``manila-lite``."""

    def setUp(self):
        super().setUp()
        self.port = free_ports(4)
        self.lite = self.useFixture(process.Lite(_CONFIG.format(port=self.port)))
        self.lite.start()
        self.lite.ok('POST', '/types', process.DEFAULT_TYPE)

    def scraped_until(self, name, least, **labels):
        found = []

        def enough():
            found.append(Scraped(self.port))
            return found[-1].value(name, **labels) >= least

        base.eventually(enough, f'{name} {labels} stays below {least}')
        return found[-1]

    def test_metrics_show_the_work_for_a_share_without_ids_or_addresses(self):
        share = self.lite.ok('POST', '/shares', {'share': {'size': 3, 'share_proto': 'NFS'}})['share']['id']
        self.lite.wait(f'/shares/{share}', 'share', 'available')
        self.lite.ok(
            'POST',
            f'/shares/{share}/action',
            {'allow_access': {'access_type': 'ip', 'access_to': '192.0.2.1'}},
        )
        for path in ('/nothing/here', f'/shares/{share}/none', '/%0a', '/nothing/' + 'x' * 300):
            self.assertEqual(404, self.lite.call('GET', path)[0], path)
        self.lite.call('PROPFIND', '/shares')
        for kind in ('access.sync', 'share.create'):
            self.scraped_until('operations_ended_total', 1, kind=kind, outcome='done')
        self.scraped_until('operation_run_seconds_count', 2, kind='share.create')
        self.scraped_until('rpc_wakeups_total', 1, outcome='sent')
        seen = self.scraped_until('quota_used_bytes', 3 * units.Gi, resource='shares')

        self.assertEqual(1, seen.value('requests_total', route='/v2/shares', method='POST', status='200'))
        self.assertLess(
            0, seen.value('requests_total', route='/v2/shares/{share_id}', method='GET', status='200')
        )
        self.assertEqual(4, seen.value('requests_total', route='other', method='GET', status='404'))
        self.assertEqual(1, seen.value('requests_total', method='other'))
        self.assertEqual(
            1, seen.value('request_duration_seconds_count', route='/v2/shares/{share_id}/action')
        )
        self.assertEqual(1, seen.value('operations_ended_total', kind='share.create', outcome='done'))
        self.assertEqual(1, seen.value('operation_duration_seconds_count', kind='share.create'))
        # At least once by the scheduler and once by the backend.
        self.assertLessEqual(2, seen.value('operation_run_seconds_count', kind='share.create'))
        self.assertLessEqual(2, seen.value('operation_wait_seconds_count', kind='share.create'))
        self.assertLess(0, seen.value('rpc_wakeups_total', outcome='sent'))
        self.assertEqual(1, seen.value('quota_used', resource='shares'))
        self.assertEqual(1, seen.value('database_readable'))
        self.assertEqual(
            1, seen.value('process_info', service='manila-lite', host='test', release=release.VERSION)
        )
        self.assertEqual(1, seen.value('service_up', binary='manila-share', host='test@alpha'))
        self.assertEqual({'test', 'test@alpha'}, seen.labels('service_heartbeat_age_seconds', 'host'))
        (pool,) = seen.labels('pool_total_bytes', 'pool')
        self.assertEqual(1000 * units.Gi, seen.value('pool_total_bytes', pool=pool))
        self.scraped_until('pool_allocated_bytes', 3 * units.Gi, pool=pool)

        for name in ('requests_total', 'request_duration_seconds_count'):
            self.assertEqual(set(), seen.labels(name, 'route') - ROUTES)
        self.assertEqual(set(), seen.labels('operations_open', 'kind') ^ metrics_collector.KINDS)
        self.assertEqual(set(metrics_collector.AGES), seen.labels('operations_open', 'age'))
        for sample in seen.samples:
            for value in sample.labels.values():
                self.assertIsNone(_UUID.search(value), sample)
                self.assertNotIn('192.0.2.1', value)
            self.assertNotIn('project', sample.labels)

    def test_outcomes_of_operations_are_shown_before_the_first_one(self):
        shown = [
            (sample.labels['kind'], sample.labels['outcome'])
            for sample in Scraped(self.port).samples
            if sample.name == 'manila_lite_operations_ended_total'
        ]
        self.assertEqual(
            sorted(itertools.product((*metrics_collector.KINDS, 'other'), ('done', 'failed', 'parked'))),
            sorted(shown),
        )

    def test_open_and_failed_operations_are_counted(self):
        # A call that hangs fails by the knobs that were set when it began.
        self.lite.knobs('create_share:hang', 'create_share:fail')
        share = self.lite.ok('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})['share']['id']
        self.scraped_until('operations_open', 1, kind='share.create', age='under_1m')
        self.lite.knobs('create_share:fail')
        self.lite.wait(f'/shares/{share}', 'share', 'error')
        seen = self.scraped_until('operations_ended_total', 1, kind='share.create', outcome='failed')
        self.assertEqual(0, seen.value('operations_ended_total', kind='share.create', outcome='done'))
        base.eventually(
            lambda: not Scraped(self.port).value('operations_open', kind='share.create'), 'it stays open'
        )

    def test_other_paths_return_404(self):
        for path in ('/', '/metrics/x', '/v2/shares'):
            refused = self.assertRaises(
                urllib.error.HTTPError,
                urllib.request.urlopen,
                f'http://127.0.0.1:{self.port}{path}',
                timeout=waiting.LIMIT,
            )
            self.assertEqual(404, refused.code)
            refused.close()


class ManyProcesses(testtools.TestCase):
    def test_each_process_takes_its_own_port(self):
        port = free_ports(4)
        parts = self.useFixture(
            process.Parts(f'osapi_share_workers = 2\n[metrics]\nport = {port}\nports = 4\n')
        )
        for name in ('api', 'scheduler', 'share'):
            parts.run(name)

        def all_shown():
            seen = [Scraped(number) for number in range(port, port + 4)]
            return sorted(service for one in seen for service in one.labels('process_info', 'service'))

        parts.until(
            lambda: all_shown() == ['manila-api', 'manila-api', 'manila-scheduler', 'manila-share'],
            'not every process shows metrics',
        )
        for _ in range(8):
            parts.ok('GET', '/shares')
        self.assertEqual(
            8,
            sum(
                Scraped(number).value('requests_total', route='/v2/shares')
                for number in range(port, port + 4)
            ),
        )

    def test_processes_of_backends_have_ports_of_their_own_and_name_their_backends(self):
        port = free_ports(3)
        parts = self.useFixture(
            process.Parts(
                'enabled_share_backends = alpha,beta\n[beta]\ndriver = dummy\n'
                f'[metrics]\nport = {port}\nports = 3\n'
            )
        )
        for name in ('share', 'scheduler'):
            parts.run(name)

        def shown():
            seen = [Scraped(number) for number in range(port, port + 3)]
            return sorted(
                (service, backend)
                for one in seen
                for service in one.labels('process_info', 'service')
                for backend in one.labels('process_info', 'backend')
            )

        parts.until(
            lambda: (
                shown() == [('manila-scheduler', ''), ('manila-share', 'alpha'), ('manila-share', 'beta')]
            ),
            'not every process is named',
        )

    def test_metrics_are_served_under_another_web_server(self):
        port = free_ports(4)
        parts = self.useFixture(process.Parts(f'[metrics]\nport = {port}\nports = 4\n'))
        parts.run(
            'web',
            sys.executable,
            '-m',
            'gunicorn',
            'manila_lite.wsgi.api:application',
            '--preload',
            '--workers=1',
            '--threads=2',
            '--worker-class=gthread',
            f'--bind=127.0.0.1:{parts.port}',
            HOME=str(parts.state),
            MANILA_LITE_CONFIG_FILES=str(parts.config),
        )
        parts.until(parts.answers, 'the server does not answer')
        parts.ok('GET', '/shares')
        parts.until(
            lambda: Scraped(port).value('requests_total', route='/v2/shares') == 1,
            'the request is not counted',
        )
        self.assertEqual({'manila-api'}, Scraped(port).labels('process_info', 'service'))


class Harmless(base.ServiceTest):
    """Metrics that cannot be shown or read disturb nothing else."""

    PARTS = ()

    def setUp(self):
        super().setUp()
        self.conf = self.service.conf
        self.port = process.free_port()
        for name, value in (('port', self.port), ('ports', 1), ('cache_seconds', 1.0)):
            self.conf.set_override(name, value, 'metrics')
            self.addCleanup(self.conf.clear_override, name, 'metrics')
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))

    def test_a_busy_port_is_tried_again(self):
        self.useFixture(fixtures.MonkeyPatch(f'{metrics_server.__name__}._RETRY', 0.05))
        seen = monitor.Monitor(self.conf, 'test')
        self.addCleanup(seen.stop)
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', self.port))
            taken.listen()
            seen.start()
            base.eventually(
                lambda: 'in use (options [metrics] port and ports)' in self.log.output, 'the log says nothing'
            )
        base.eventually(
            lambda: f':{self.port}/metrics' in self.log.output, 'the port is not taken when it is free'
        )
        self.assertEqual(1, Scraped(self.port).value('process_info', service='test'))

    def test_address_of_another_machine_is_not_called_busy(self):
        self.conf.set_override('listen', '192.0.2.1', 'metrics')
        self.addCleanup(self.conf.clear_override, 'listen', 'metrics')
        seen = monitor.Monitor(self.conf, 'test')
        self.addCleanup(seen.stop)
        seen.start()
        base.eventually(
            lambda: 'Cannot assign requested address (options [metrics] listen and port)' in self.log.output,
            'the log says nothing',
        )
        self.assertNotIn('in use', self.log.output)

    def test_unreadable_database_is_reported_by_one_metric(self):
        with self.service.services.db.writer() as conn:
            conn.execute(sa.text('ALTER TABLE pools RENAME TO gone'))
        shown = metrics_collector.FromDatabase(self.conf, self.service.services.db)
        self.addCleanup(shown.close)
        try:
            found = {family.name: family for family in shown.collect()}
        finally:
            with self.service.services.db.writer() as conn:
                conn.execute(sa.text('ALTER TABLE gone RENAME TO pools'))
        self.assertEqual(['manila_lite_database_readable'], list(found))
        self.assertEqual(0, found['manila_lite_database_readable'].samples[0].value)
        self.assertIn('are missing', self.log.output)

    def test_database_is_read_once_for_many_requests(self):
        self.conf.set_override('cache_seconds', 3600.0, 'metrics')
        self.conf.set_override('projects', 3, 'metrics')
        self.addCleanup(self.conf.clear_override, 'projects', 'metrics')
        statements = []

        def saw(conn, cursor, statement, *rest):
            statements.append(statement)

        engine = self.service.services.db.engine
        shown = metrics_collector.FromDatabase(self.conf, self.service.services.db)
        self.addCleanup(shown.close)
        sa.event.listen(engine, 'before_cursor_execute', saw)
        self.addCleanup(sa.event.remove, engine, 'before_cursor_execute', saw)
        for _ in range(20):
            names = {family.name for family in shown.collect()}
        self.assertIn('manila_lite_operations_open', names)
        self.assertIn('manila_lite_project_quota_used', names)
        self.assertLessEqual(len([text for text in statements if text.startswith('SELECT')]), 9, statements)


class FromTheDatabase(base.ServiceTest):
    PARTS = ()

    def test_open_operations_are_counted_by_age(self):
        now = timeutils.utcnow()
        with self.service.services.db.writer() as conn:
            for seconds, state in ((1, 'open'), (70, 'open'), (80, 'open'), (7200, 'open'), (1, 'done')):
                operation_id = operations.insert(
                    conn,
                    kind='share.create',
                    resource_type='share',
                    resource_id='x',
                    topic='nobody',
                    data={},
                    lane='work',
                    state=state,
                    finished_at=None if state == 'open' else now,
                )
                conn.execute(
                    models.operations.update()
                    .where(models.operations.c.id == operation_id)
                    .values(created_at=now - datetime.timedelta(seconds=seconds))
                )
            found = metrics_queries.open_operations(conn, (60.0, 600.0, 3600.0))
        self.assertEqual({'share.create': [1, 2, 0, 1]}, found)

    def test_only_the_projects_with_most_usage_are_returned(self):
        with self.service.services.db.writer() as conn:
            for project, size in (('a', 5), ('b', 7), ('b', 1), ('c', 1)):
                conn.execute(
                    models.shares.insert().values(
                        id=f'{project}{size}', project_id=project, user_id='u', size=size, share_proto='NFS'
                    )
                )
            self.assertEqual(
                {'b': {'shares': 2, 'gigabytes': 8}, 'a': {'shares': 1, 'gigabytes': 5}},
                metrics_queries.usage_by_project(conn, 2),
            )
            self.assertEqual(
                {'shares': 4, 'gigabytes': 14, 'snapshots': 0, 'snapshot_gigabytes': 0},
                metrics_queries.usage(conn),
            )

    def test_errors_are_counted_and_hide_values(self):
        before = (
            metrics.REGISTRY.get_sample_value(
                'manila_lite_database_errors_total', {'error': 'DBDuplicateEntry'}
            )
            or 0
        )
        values = {
            'id': 'twice',
            'project_id': 'hunter2',
            'kind': 'share.create',
            'resource_type': 'share',
            'resource_id': 'x',
            'topic': 'nobody',
            'data': {},
            'lane': 'work',
        }

        def twice():
            with self.service.services.db.writer() as conn:
                operations.insert(conn, **values)
                operations.insert(conn, **values)

        error = self.assertRaises(oslo_db_exception.DBDuplicateEntry, twice)
        self.assertNotIn('hunter2', str(error.inner_exception))
        self.assertEqual(
            before + 1,
            metrics.REGISTRY.get_sample_value(
                'manila_lite_database_errors_total', {'error': 'DBDuplicateEntry'}
            ),
        )
