# SPDX-License-Identifier: Apache-2.0
"""Notes of slow requests and of errors of the service: what is noted, what it costs, how much it is, and for how long."""

import contextlib
import dataclasses
import datetime
import http.client
import re
import sqlite3
import threading
import time
from concurrent import futures

import fixtures
import sqlalchemy as sa
import testtools
import webtest
from oslo_config import cfg
from oslo_utils import timeutils

from manila_lite import context
from manila_lite.api.http import app, unwritten_notes
from manila_lite.api.http.request_notes import Notes
from manila_lite.cmd import setup
from manila_lite.db import models
from manila_lite.db.core.engine import Database
from manila_lite.tests import hush, process, waiting
from manila_lite.tests.functional import base, manage
from manila_lite.tests.functional.api.test_budgets import counting

_SLOW = 0.5
#: What a database may round.
_SECOND = datetime.timedelta(seconds=1)
#: Has every request noted.
EVERY_REQUEST = '[api]\nslow_request = 0.000001\n'
_LINE = re.compile(r'\S+ \S+ (\d+) \S+ manila_lite\.api\.http\.request_log \[(req-\S+) ')


def processes_of(notes, log):
    """Return the ids of the processes that answered the requests of notes, from the log."""
    answered = {request_id: process_id for process_id, request_id in _LINE.findall(log.read_text())}
    return {answered[note['request_id']] for note in notes if note['request_id'] in answered}


def ask_often(parts, port):
    """Send requests at the same time, so that more than one process gets some."""

    def ask(_):
        with contextlib.closing(http.client.HTTPConnection('127.0.0.1', port, timeout=waiting.LIMIT)) as wire:
            wire.request('GET', '/v2/types', headers={'X-Auth-Token': parts.token})
            wire.getresponse().read()

    with futures.ThreadPoolExecutor(4) as callers:
        list(callers.map(ask, range(8)))


class NotesTest(manage.ManageTest):
    """A service with an API of each test's own, whose requests are noted."""

    # No request is slow because the machine is busy: tests say which shall be.
    EXTRA = f'[api]\nslow_request = {2 * waiting.LIMIT}\n'
    PARTS = ()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.drop, models.request_notes, sa.true())
        self.db = self.service.services.db
        self.notes, self.noted = self.new_api()

    def new_api(self, services=None):
        """Return notes, and an administrator whose requests are noted there."""
        notes = Notes(services or self.service.services)
        self.addCleanup(notes.close)
        return notes, base.Api(webtest.TestApp(app.make(self.service.services, note=notes.note)))

    def slow_from_now(self):
        """Have an API of which requests are slow from ``_SLOW`` seconds on."""
        self.written()
        self.service.conf.set_override('slow_request', _SLOW, 'api')
        self.addCleanup(self.service.conf.clear_override, 'slow_request', 'api')
        self.notes, self.noted = self.new_api()

    def written(self):
        """Have all notes written. The end of a process does not wait for them as long as a test."""
        self.notes.close()
        base.eventually(self.is_quiet, 'notes are still written')

    def is_quiet(self):
        return 'request notes' not in [thread.name for thread in threading.enumerate()]

    def rows(self, query=''):
        """Return all notes there are, as the API has them."""
        self.written()
        return self.admin.ok('GET', f'/request-notes{query}')['request_notes']

    @contextlib.contextmanager
    def broken(self, table='qos_types'):
        """Have requests for a table fail."""
        with self.db.writer() as conn:
            conn.execute(sa.text(f'ALTER TABLE {table} RENAME TO gone'))
        try:
            yield
        finally:
            with self.db.writer() as conn:
                conn.execute(sa.text(f'ALTER TABLE gone RENAME TO {table}'))

    def fail(self, caller=None, **more):
        """Send a request that fails; return its id."""
        with self.broken():
            status, _, headers = (caller or self.noted).call('GET', '/qos-types', **more)
        self.assertEqual(500, status)
        return headers['x-openstack-request-id']

    def be_slow(self, path, body):
        """Have a request wait for a row that another transaction has; return its answer."""
        answers = []
        self.slow_from_now()
        caller = threading.Thread(target=lambda: answers.append(self.noted.call('PUT', path, body)))
        with self.db.writer() as conn:
            conn.execute(models.share_types.update().values(description='locked'))
            caller.start()
            base.eventually(
                lambda: any(
                    task.what.startswith('PUT ') and time.monotonic() - task.since > _SLOW
                    for task in context.tasks()
                ),
                'the request does not wait',
            )
        caller.join(waiting.LIMIT)
        return answers[0]


class Noted(NotesTest):
    """What is noted."""

    def test_slow_request_is_noted_without_anything_that_it_carried(self):
        type_id = self.admin.ok('GET', '/types')['share_types'][0]['id']
        secret = hush.secret('query')
        before, began = timeutils.utcnow(), time.monotonic()
        status, _, headers = self.be_slow(
            f'/types/{type_id}?token={secret}', {'share_type': {'description': secret}}
        )
        self.assertEqual(200, status)
        (row,) = self.rows()
        expected = {
            'host': 'test',
            'method': 'PUT',
            'path': '/v2/types/{type_id}',
            'status': 200,
            'project_id': 'p',
            'request_id': headers['x-openstack-request-id'],
            'requests': 1,
            'slow': 1,
            'failed': 0,
        }
        self.assertEqual(expected, {name: row[name] for name in expected})
        self.assertTrue(_SLOW <= row['seconds'] <= time.monotonic() - began, row)
        noted, second = timeutils.parse_isotime(row['created_at']).replace(tzinfo=None), _SECOND
        self.assertTrue(before - second <= noted <= timeutils.utcnow() + second, row)
        with self.db.reader() as conn:
            stored = str(conn.execute(models.request_notes.select()).all())
        for text in (secret, type_id, hush.MARK, 'token', '?'):
            self.assertNotIn(text, stored)

    def test_error_of_the_service_is_noted_and_told_apart_from_what_is_slow(self):
        request_id = self.fail(version='2.94')
        type_id = self.admin.ok('GET', '/types')['share_types'][0]['id']
        _, _, headers = self.be_slow(f'/types/{type_id}', {'share_type': {'description': 'x'}})
        slow_id = headers['x-openstack-request-id']
        (failed,) = self.rows('?failed=true')
        self.assertEqual(
            (request_id, 'GET', '/v2/qos-types', 500, 0, 1),
            tuple(failed[name] for name in ('request_id', 'method', 'path', 'status', 'slow', 'failed')),
        )
        for query, expected in (
            ('', [slow_id, request_id]),
            ('?slow=1', [slow_id]),
            ('?slow=no', [request_id]),
            ('?slow=true&failed=true', []),
            ('?limit=1', [slow_id]),
            ('?limit=1&offset=1', [request_id]),
        ):
            self.assertEqual(expected, [row['request_id'] for row in self.rows(query)], query)
        page = self.admin.ok('GET', '/request-notes?limit=1')
        self.assertIn('offset=1', page['request_notes_links'][0]['href'])

    def test_other_requests_and_waiting_for_events_are_not_noted(self):
        self.noted.ok('GET', '/types')
        for path in ('/nothing', '/shares/none', '/qos-types?sort_key=none'):
            self.assertIn(self.noted.call('GET', path)[0], (400, 404), path)
        self.slow_from_now()
        began = time.monotonic()
        self.noted.ok('GET', '/events?wait=1', headers={'Accept': 'application/json'})
        self.assertTrue(time.monotonic() - began > _SLOW, 'it did not wait')
        self.assertTrue(self.is_quiet(), 'there is something to write')
        self.assertEqual([], self.rows())

    def test_unready_process_is_no_failed_request(self):
        with self.db.writer() as conn:
            version = conn.execute(sa.text('SELECT version_num FROM alembic_version')).scalar_one()
            conn.execute(sa.text("UPDATE alembic_version SET version_num = '0003'"))
        try:
            answer = self.noted._app.get('/readiness', expect_errors=True)
        finally:
            with self.db.writer() as conn:
                conn.execute(
                    sa.text('UPDATE alembic_version SET version_num = :version'), {'version': version}
                )
        self.assertEqual(503, answer.status_int)
        self.assertEqual([], self.rows())

    def test_methods_and_paths_that_nobody_knows_are_not_kept(self):
        self.notes.note(
            {'REQUEST_METHOD': f'BREW{hush.MARK}', 'PATH_INFO': f'/v2/shares/{hush.MARK}/{hush.MARK}'},
            500,
            0.1,
        )
        self.notes.note({'PATH_INFO': '/v2/\udcff'}, 500, 0.1)
        self.assertEqual([('other', 'other')] * 2, [(row['method'], row['path']) for row in self.rows()])

    def test_request_that_did_not_get_as_far_as_its_call_has_its_path_too(self):
        for path, version, expected in (
            ('/v2/shares/7', '2.99', '/v2/shares/{share_id}'),
            ('/v2/p/shares', '2.7', '/v2/shares'),
            ('/v2/os-availability-zone', '2.0', '/v2/os-availability-zone'),
            ('/v2/shares', '9.9', 'other'),
            ('/', '2.7', 'other'),
        ):
            environ = {
                'REQUEST_METHOD': 'GET',
                'PATH_INFO': path,
                'HTTP_X_OPENSTACK_MANILA_API_VERSION': version,
            }
            self.notes.note(environ, 503, 0.1)
            self.assertEqual(expected, self.rows()[0]['path'], path)
            self.drop(models.request_notes, sa.true())
            self.notes, _ = self.new_api()

    def test_notes_are_for_administrators(self):
        self.assertEqual(403, self.caller().call('GET', '/request-notes')[0])
        self.assertEqual(400, self.admin.call('GET', '/request-notes?status=500')[0])


class Costs(NotesTest):
    """What notes cost: requests nothing, the database a few rows, for an hour."""

    def test_request_sends_no_statement_for_its_note(self):
        with counting(self.db.engine) as counter:
            self.fail()
            base.eventually(
                lambda: any('request_notes' in text for _, text in counter.statements), 'nothing is written'
            )
        self.assertEqual(
            {'request notes'}, {thread for thread, text in counter.statements if 'request_notes' in text}
        )
        self.assertEqual(1, len(self.rows()))

    def test_list_of_any_length_is_one_statement(self):
        for _ in range(2):
            for _ in range(20):
                self.notes.note({'REQUEST_METHOD': 'GET', 'PATH_INFO': '/v2/shares'}, 500, 0.1)
            found = self.rows()
            with counting(self.db.engine) as counter:
                self.assertEqual(found, self.rows())
            self.assertEqual(1, len(counter.asked()), counter.asked())
            self.notes, _ = self.new_api()
        self.assertEqual(40, len(found))

    def test_thread_ends_and_begins_again(self):
        self.fail()
        for count in (1, 2):
            base.eventually(lambda count=count: len(self.stored()) == count, 'no note')
            base.eventually(self.is_quiet, 'it goes on')
            if count == 1:
                self.fail()

    def test_any_number_of_requests_are_few_rows_and_each_is_counted(self):
        self.fail()
        count = 3 * unwritten_notes.PER_MINUTE
        for number in range(count):  # as many answers at once as no test could wait for
            self.notes.note({'REQUEST_METHOD': 'GET', 'PATH_INFO': '/v2/shares'}, 500, number / 1000)
        rows = self.rows()
        self.assertTrue(
            len(rows) <= 2 * unwritten_notes.PER_MINUTE, len(rows)
        )  # the minute may have ended meanwhile
        self.assertEqual([count + 1] * 2, [sum(row[name] for row in rows) for name in ('requests', 'failed')])
        counted = next(row for row in rows if row['requests'] > 1)
        self.assertEqual(
            {None}, {counted[name] for name in ('method', 'path', 'status', 'request_id', 'project_id')}
        )

    def test_old_notes_are_not_shown_and_deleted_with_the_next_ones(self):
        self.fail()
        self.assertEqual(1, len(self.rows()))
        old = timeutils.utcnow() - datetime.timedelta(minutes=61)
        with self.db.writer() as conn:
            conn.execute(models.request_notes.update().values(created_at=old))
        self.assertEqual([], self.rows())
        self.assertEqual(1, len(self.stored()))
        self.notes, self.noted = self.new_api()
        request_id = self.fail()
        self.written()
        self.assertEqual([request_id], [row.request_id for row in self.stored()])

    def test_old_notes_are_purged_where_no_request_is_noted_any_more(self):
        for purge in (self.service.scheduler._purge, lambda: self.manage('db', 'purge', '1')):
            for name, minutes in (('old', 61), ('new', 1)):
                self.add(
                    models.request_notes,
                    id=name,
                    created_at=timeutils.utcnow() - datetime.timedelta(minutes=minutes),
                    api_host='a',
                    seconds=1.0,
                    requests=1,
                    slow=1,
                    failed=0,
                )
            purge()
            self.assertEqual(['new'], [row.id for row in self.stored()])
            self.drop(models.request_notes, sa.true())

    def stored(self):
        with self.db.reader() as conn:
            return conn.execute(models.request_notes.select()).all()


class Away(NotesTest):
    """Notes that cannot be written."""

    def unreachable(self):
        """Return the services with a database that does not answer."""
        config = self.service.state / 'away.conf'
        config.write_text(
            f'[database]\nconnection = mysql+pymysql://u@127.0.0.1:{process.free_port()}/none\n'
        )
        conf = setup.configure(
            [f'--config-file={config}'], transport_url='inproc://', conf=cfg.ConfigOpts(), logged=False
        )
        db = Database(conf)
        self.addCleanup(db.dispose)
        return dataclasses.replace(self.service.services, db=db)

    def test_unreachable_database_lets_notes_wait_and_no_request_fail(self):
        log = self.useFixture(fixtures.FakeLogger('manila_lite.api.http.request_notes'))
        notes, caller = self.new_api(self.unreachable())
        with self.broken():
            for _ in range(10):
                self.assertEqual(500, caller.call('GET', '/qos-types')[0])
            self.assertEqual(200, caller.call('GET', '/types')[0])
        base.eventually(lambda: 'wait for the database' in log.output, 'no try to write')
        notes._db = self.db  # as if it was back
        notes.close()
        self.assertEqual(10, len(self.rows()))

    def test_table_that_is_missing_costs_the_notes_alone(self):
        with self.broken('request_notes'):
            with self.db.writer() as conn:
                conn.execute(sa.text('ALTER TABLE qos_types RENAME TO gone_too'))
            try:
                self.assertEqual(500, self.noted.call('GET', '/qos-types')[0])
                self.written()
            finally:
                with self.db.writer() as conn:
                    conn.execute(sa.text('ALTER TABLE gone_too RENAME TO qos_types'))
        self.assertEqual([], self.rows())
        self.assertEqual(200, self.noted.call('GET', '/qos-types')[0])


class SeveralProcesses(testtools.TestCase):
    """Every process of the API on every host writes its notes, and any of them shows all."""

    def test_notes_of_all_processes_of_all_hosts_are_in_one_list(self):
        parts = self.useFixture(process.Parts(f'osapi_share_workers = 2\n{EVERY_REQUEST}'))
        other = parts.state / 'other.conf'
        other_port = process.free_port()
        other.write_text(
            parts.config.read_text()
            .replace('host = test', 'host = other')
            .replace(f'port = {parts.port}', f'port = {other_port}')
        )
        parts.run('api')
        parts.run('api', config=other)
        parts.until(parts.answers, 'the API answers')

        def noted():
            for port in (parts.port, other_port):
                ask_often(parts, port)
            rows = parts.ok('GET', '/request-notes')['request_notes']
            return rows if len(processes_of(rows, parts.log)) == 4 else None

        rows = parts.until(noted, 'notes of each process')
        self.assertEqual({'test', 'other'}, {row['host'] for row in rows})
        self.assertEqual({(1, 0)}, {(row['slow'], row['failed']) for row in rows if row['requests'] == 1})

    def test_notes_are_written_when_the_process_ends(self):
        parts = self.useFixture(process.Parts(EVERY_REQUEST))
        api = parts.run('api')
        parts.until(parts.answers, 'the API answers')
        parts.ok('GET', '/types')
        api.terminate()
        self.assertEqual(0, api.wait(timeout=waiting.LIMIT), parts.tail())
        with contextlib.closing(sqlite3.connect(parts.state / 'manila_lite.sqlite')) as database:
            self.assertEqual([('/v2/types',)], database.execute('SELECT path FROM request_notes').fetchall())
