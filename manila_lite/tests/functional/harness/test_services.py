# SPDX-License-Identifier: Apache-2.0
"""Private servers that tests start: they conflict with no other server, and end with the command that started them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import fixtures
import psycopg2
import sqlalchemy as sa
import testtools

from manila_lite.tests import waiting
from manila_lite.tests.services import daemon, databases, places

#: Prints its test variables, sleeps for the given seconds, and exits with the given status.
_COMMAND = """
import json, os, sys, time
print(json.dumps({name: value for name, value in os.environ.items() if name.startswith('MANILA_LITE_TEST_')}), flush=True)
time.sleep(float(sys.argv[1]))
sys.exit(int(sys.argv[2]))
"""


class Around(testtools.TestCase):
    """Commands with a server: PostgreSQL, since it starts fastest."""

    def setUp(self):
        super().setUp()
        try:
            databases.PostgreSQL().need()
        except daemon.Missing as missing:
            self.skipTest(str(missing))

    def start(self, stay, status=0):
        env = {name: value for name, value in os.environ.items() if not name.startswith('MANILA_LITE_TEST_')}
        # Remains of a server that was killed with the command are deleted with this directory.
        env['TMPDIR'] = self.useFixture(fixtures.TempDir()).path
        Path(env['TMPDIR']).chmod(0o755)
        process = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'manila_lite.tests.services',
                '--database',
                'postgresql',
                '--',
                sys.executable,
                '-c',
                _COMMAND,
                str(stay),
                str(status),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        said = json.loads(process.stdout.readline())
        self.assertEqual({places.DATABASE}, said.keys())
        return process, sa.make_url(said[places.DATABASE])

    def answers(self, url):
        try:
            psycopg2.connect(
                host=url.host,
                port=url.port,
                user=url.username,
                password=url.password,
                dbname=url.database,
                connect_timeout=int(waiting.LIMIT),
            ).close()
        except psycopg2.OperationalError:
            return False
        return True

    def gone(self, url):
        waiting.until(lambda: not self.answers(url), 'the server has ended', pause=0.05)

    def test_exit_status_of_the_command_is_returned(self):
        process, url = self.start(0, 5)
        self.assertEqual(5, process.wait(waiting.LIMIT))
        self.assertFalse(self.answers(url))

    def test_server_accepts_only_its_password_and_listens_on_loopback(self):
        _, url = self.start(60)
        self.assertTrue(self.answers(url))
        self.assertEqual('127.0.0.1', url.host)
        self.assertNotEqual(5432, url.port)
        self.assertFalse(self.answers(url.set(password='guessed')))

    def test_server_stops_when_the_command_is_interrupted(self):
        for signo in (signal.SIGTERM, signal.SIGINT):
            process, url = self.start(60)
            process.send_signal(signo)
            self.assertEqual(128 + signo, process.wait(waiting.LIMIT))
            self.assertFalse(self.answers(url))

    def test_server_stops_when_the_command_is_killed(self):
        process, url = self.start(1)
        process.kill()
        process.wait(waiting.LIMIT)
        self.gone(url)

    def test_missing_program_is_reported(self):
        self.assertRaises(daemon.Missing, daemon.program, 'no-such-server')


class Places(testtools.TestCase):
    """Databases and buses of test services, each for one service alone."""

    def test_each_database_is_empty_and_has_its_own_url(self):
        folder = self.useFixture(fixtures.TempDir()).path
        other = self.useFixture(fixtures.TempDir()).path
        first, second = (self.useFixture(places.EmptyDatabase(Path(where))) for where in (folder, other))
        self.assertNotEqual(first.url, second.url)
        for url in (first.url, second.url):
            engine = sa.create_engine(url, poolclass=sa.NullPool)
            self.assertEqual([], sa.inspect(engine).get_table_names())
            with engine.begin() as conn:
                conn.exec_driver_sql('CREATE TABLE mine (id integer)')

    def test_each_bus_has_its_own_url(self):
        self.assertNotEqual(*(self.useFixture(places.EmptyBus()).url for _ in range(2)))
