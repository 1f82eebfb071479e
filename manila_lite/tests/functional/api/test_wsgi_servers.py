# SPDX-License-Identifier: Apache-2.0
"""The API behind gunicorn and uwsgi, started as in doc/source/admin/wsgi.rst, with several processes and threads."""

import contextlib
import http.client
import json
import re
import sqlite3
import sys
import threading
from concurrent import futures
from pathlib import Path

import psutil
import testscenarios
import testtools

from manila_lite.tests import process, waiting
from manila_lite.tests.functional.api import test_request_notes

APPLICATION = 'manila_lite.wsgi.api:application'
SAMPLE = Path(__file__).resolve().parents[4] / 'etc/manila_lite/uwsgi/manila-api.ini'
WORKERS = 2


def gunicorn(parts, *more):
    return [
        sys.executable,
        '-m',
        'gunicorn',
        APPLICATION,
        f'--bind=127.0.0.1:{parts.port}',
        f'--workers={WORKERS}',
        '--threads=4',
        '--worker-class=gthread',
        # A request that waits for a test is not cut off after half a minute.
        f'--graceful-timeout={waiting.LIMIT:.0f}',
        '--access-logfile=-',
        *more,
    ]


def uwsgi(parts, *more):
    # The sample with another port, number of processes and configuration.
    text = (
        SAMPLE.read_text()
        .replace(':8786', f':{parts.port}')
        .replace('processes = 4', f'processes = {WORKERS}')
    )
    ini = parts.state / 'uwsgi.ini'
    ini.write_text(re.sub('^env = MANILA_LITE_CONFIG_FILES=.*', '', text, flags=re.MULTILINE))
    # The same as the command "uwsgi" of pyuwsgi, but independent of PATH.
    return [sys.executable, '-c', 'import pyuwsgi; pyuwsgi.run()', f'--ini={ini}', *more]


#: The servers as in the documentation, and with the application loaded on the other side of the fork.
DOCUMENTED = [('gunicorn', {'server': gunicorn, 'more': ()}), ('uwsgi', {'server': uwsgi, 'more': ()})]
OTHERWISE = [
    ('gunicorn-preload', {'server': gunicorn, 'more': ('--preload',)}),
    ('uwsgi-lazy', {'server': uwsgi, 'more': ('--lazy-apps',), 'loaded': 'WSGI app 0 (mountpoint'}),
]


class WebTest(testscenarios.WithScenarios, testtools.TestCase):
    """A web server that runs."""

    scenarios = DOCUMENTED
    #: Text that each process logs once when it is ready.
    loaded = ''

    def setUp(self):
        super().setUp()
        self.parts = self.useFixture(process.Parts())
        # Some options come from the environment, which takes precedence over the file.
        self.web = self.parts.run(
            'web',
            *self.server(self.parts, *self.more),
            HOME=str(self.parts.state),
            MANILA_LITE_CONFIG_FILES=str(self.parts.config),
            OS_DEFAULT__OSAPI_MAX_LIMIT='7',
            OS_API__SLOW_REQUEST='0.000001',
        )
        self.parts.until(self.parts.answers, 'the server answers')

    def workers(self):
        return [child for child in process.children(self.web) if self.has_database(child)]

    @staticmethod
    def has_database(child):
        with contextlib.suppress(psutil.Error):
            return any(file.path.endswith('.sqlite') for file in child.open_files())
        return False

    def rows(self, sql, *values):
        with contextlib.closing(sqlite3.connect(self.parts.state / 'manila_lite.sqlite')) as database:
            return database.execute(sql, values).fetchall()


class Servers(WebTest):
    """Each server, with the application loaded before the fork or after it."""

    scenarios = DOCUMENTED + OTHERWISE

    def test_shares_are_created_by_every_server_process(self):
        """Make shares in every process of the server; a scheduler and a backend find their operations."""
        self.parts.ok('POST', '/types', process.DEFAULT_TYPE)
        with futures.ThreadPoolExecutor(8) as callers:
            idents = list(callers.map(lambda _: self.parts.share(), range(24)))
        for share_id in idents:
            self.assertEqual(
                [('share.create', 'scheduler', 'open')],
                self.rows('SELECT kind, topic, state FROM operations WHERE resource_id = ?', share_id),
            )
        self.assertEqual(7, len(self.parts.ok('GET', '/shares')['shares']))
        self.until_every_worker_worked()
        self.parts.run('share')
        self.parts.until(self.parts.pools, 'a pool')
        self.parts.run('scheduler')
        for share_id in idents:
            self.parts.wait(f'/shares/{share_id}', 'share', 'available')
        self.web.terminate()
        self.assertEqual(0, self.web.wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertIn('POST', self.parts.log.read_text())
        self.assertNotIn('Traceback', self.parts.log.read_text())

    def until_every_worker_worked(self):
        """Send requests until each process has a database connection of its own."""

        def worked():
            with futures.ThreadPoolExecutor(8) as callers:
                list(callers.map(lambda _: self.parts.ok('GET', '/shares'), range(16)))
            return len(self.workers()) == WORKERS

        self.parts.until(worked, 'requests were answered by every process')

    def test_running_request_is_answered_when_the_server_stops(self):
        """Stop the server while a request waits for a lock of the database; the request is answered."""
        self.parts.until(
            lambda: self.parts.log.read_text().count(self.loaded) >= WORKERS, 'all processes are ready'
        )
        lock = sqlite3.connect(self.parts.state / 'manila_lite.sqlite', isolation_level=None)
        self.addCleanup(lock.close)
        lock.execute('BEGIN IMMEDIATE')
        answers = []
        caller = threading.Thread(
            target=lambda: answers.append(self.parts.call('POST', '/types', process.DEFAULT_TYPE))
        )
        caller.start()
        # This is the first request, so only its process has opened the database.
        self.parts.until(self.workers, 'the request has begun')
        self.web.terminate()
        self.parts.until(self.is_ending, 'the server noticed')
        self.assertEqual([], answers)
        lock.execute('COMMIT')
        caller.join(timeout=waiting.LIMIT)
        self.assertEqual(200, answers[0][0], answers)
        self.assertEqual(0, self.web.wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertEqual([('default',)], self.rows("SELECT name FROM share_types WHERE name = 'default'"))

    def is_ending(self):
        return any(
            said in self.parts.log.read_text() for said in ('Handling signal: term', 'Gracefully killing')
        )


class Requests(WebTest):
    """Requests to servers with several processes; it is no matter when these load the application."""

    def test_client_that_reuses_its_connection_gets_no_reset(self):
        """Send a body, and then nothing, on one connection, as long as the server keeps it; else it says that it closes it."""
        headers = {
            'X-Auth-Token': 'u:p:admin,member,reader',
            'X-OpenStack-Manila-API-Version': '2.86',
            'Content-Type': 'application/json',
        }
        with contextlib.closing(
            http.client.HTTPConnection('127.0.0.1', self.parts.port, timeout=waiting.LIMIT)
        ) as wire:
            for number in range(5):
                for method, path, body in (
                    ('GET', '/v2/types', None),
                    (
                        'POST',
                        '/v2/types',
                        {
                            'share_type': {
                                'name': f'kind-{number}',
                                'extra_specs': {'driver_handles_share_servers': 'False'},
                            }
                        },
                    ),
                ):
                    wire.request(method, path, None if body is None else json.dumps(body), headers)
                    answer = wire.getresponse()  # it connects anew only if the server has said so
                    self.assertEqual((200, True), (answer.status, bool(answer.read())))

    def test_requests_are_noted_by_every_server_process(self):
        """Send requests until each process has written a note; pages of the list have seven notes."""

        def noted():
            test_request_notes.ask_often(self.parts, self.parts.port)
            rows = [
                {'request_id': request_id}
                for (request_id,) in self.rows('SELECT request_id FROM request_notes')
            ]
            return len(test_request_notes.processes_of(rows, self.parts.log)) == WORKERS

        self.parts.until(noted, 'each process has written notes')
        self.assertEqual(7, len(self.parts.ok('GET', '/request-notes?slow=true')['request_notes']))
        self.web.terminate()
        self.assertEqual(0, self.web.wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertNotIn('Traceback', self.parts.log.read_text())

    def test_events_go_on_in_any_process_and_streams_end_at_once(self):
        """Ask for events again and again, with the position of the answer before: each process may give the next."""
        self.parts.ok('POST', '/types', process.DEFAULT_TYPE)
        self.position, missing, seen = json.loads(self.events('?wait=0')[1])['last_event_id'], set(), set()
        for _ in range(4 * WORKERS):
            missing.add(self.parts.share())
            seen |= self.later()
        # An answer has the changes of one look, and the last share may be in the next.
        waiting.until(
            lambda: seen.update(self.later()) or missing <= seen, lambda: f'not told: {missing - seen}'
        )
        kind, text = self.events('', 'text/event-stream')
        self.assertEqual('text/event-stream', kind)
        self.assertRegex(text, r'\Aretry: \d+\nid: \S+\n\n\Z')

    def later(self):
        """Ask for the events after the last ones; return the resources that they are about."""
        document = json.loads(self.events(f'?wait=2&last_event_id={self.position}')[1])
        self.position = document['last_event_id']
        self.assertNotIn('reset', [one['event'] for one in document['events']])
        return {one['data'].get('resource_id') for one in document['events']}

    def events(self, query, accept='application/json'):
        """Ask for events; return the media type and the text of the answer."""
        with contextlib.closing(
            http.client.HTTPConnection('127.0.0.1', self.parts.port, timeout=waiting.LIMIT)
        ) as wire:
            wire.request(
                'GET', f'/v2/events{query}', headers={'X-Auth-Token': self.parts.token, 'Accept': accept}
            )
            answer = wire.getresponse()
            text = answer.read().decode()
            self.assertEqual(200, answer.status, text)
            return answer.headers['Content-Type'], text
