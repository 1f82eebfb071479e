# SPDX-License-Identifier: Apache-2.0
"""A mistake of the first day is one line and exit status 1, before anything starts."""

from pathlib import Path

import fixtures
import sqlalchemy as sa
import testtools

from manila_lite.tests import forks, waiting
from manila_lite.tests.services import broker, daemon, places

_CONFIG = """
[DEFAULT]
state_path = {state}
host = here
auth_strategy = noauth
enabled_share_backends = alpha
osapi_share_listen_port = 0
transport_url = {bus}
[database]
connection = {database}
[alpha]
driver = dummy
"""
PROGRAMS = ('api', 'scheduler', 'share')


class PreflightTest(testtools.TestCase):
    """A configuration that cannot work."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.config = self.state / 'c.conf'
        self.url = self.useFixture(places.EmptyDatabase(self.state)).url

    def configure(self, database=None, bus='inproc://'):
        self.config.write_text(_CONFIG.format(state=self.state / 'lib', bus=bus, database=database or self.url))

    def refused(self, pattern, programs=PROGRAMS):
        """Start the programs, and expect one line each."""
        for program in programs:
            done = forks.run(f'manila_lite.cmd.{program}:main', f'--config-file={self.config}')
            self.assertEqual(1, done.returncode, done.stdout + done.stderr)
            said = [line for line in done.stderr.splitlines() if line.startswith('manila_lite: ')]
            self.assertEqual([said[-1:], 1], [done.stderr.splitlines()[-1:], len(said)], done.stderr)
            self.assertRegex(said[0], pattern)
            self.assertNotIn('Traceback', done.stderr)
            self.assertNotIn('hush', done.stderr)

    def sync(self):
        done = forks.run('manila_lite.cmd.manage:main', f'--config-file={self.config}', 'db', 'sync')
        self.assertEqual(0, done.returncode, done.stderr)


class Database(PreflightTest):
    """Each service, with a database that is away, or not its own."""

    def test_database_that_is_away(self):
        for url in ('mysql+pymysql://u:hush@127.0.0.1:1/x', 'postgresql+psycopg2://u:hush@127.0.0.1:1/x'):
            self.configure(url)
            self.refused(r'^manila_lite: \[database\] connection: .*127\.0\.0\.1', (*PROGRAMS, 'all_in_one'))

    def test_wrong_password_of_the_database(self):
        if places.backend() == 'sqlite':
            self.skipTest('only MariaDB has passwords, and PostgreSQL')
        self.configure(sa.make_url(self.url).set(password='hush').render_as_string(hide_password=False))
        self.refused(r'^manila_lite: \[database\] connection: .*(denied|failed)')

    def test_database_without_tables(self):
        self.configure()
        self.refused(r'^manila_lite: \[database\] connection: the database has no tables yet; run "manila-manage db sync"$')

    def test_schema_of_an_earlier_release(self):
        self.configure()
        self.sync()
        engine = sa.create_engine(self.url)
        with engine.begin() as conn:
            conn.execute(sa.text("UPDATE alembic_version SET version_num = '0003'"))
        engine.dispose()
        self.refused(r'^manila_lite: \[database\] connection: the schema is at revision 0003, and this release needs \d{4}; '
                     'run "manila-manage db sync"$')


class Broker(PreflightTest):
    """RabbitMQ with another password, or without the virtual host."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.broker = broker.RabbitMQ()
        try:
            cls.broker.need()
        except daemon.Missing as missing:
            raise cls.skipException(str(missing)) from None
        cls.broker.setUp()
        cls.addClassCleanup(cls.broker.cleanUp)

    def test_login_that_the_broker_refuses(self):
        url = sa.make_url(self.broker.url)
        self.configure(bus=str(url.set(password='hush').render_as_string(hide_password=False)))
        self.sync()
        self.refused(r"^manila_lite: transport_url: the broker on 127\.0\.0\.1:\d+ refuses the login of user '\w+': ")
        self.configure(bus=str(url.set(database='none').render_as_string(hide_password=False)))
        self.refused(r"^manila_lite: transport_url: the broker on 127\.0\.0\.1:\d+ refuses user '\w+' the virtual host 'none'")

    def test_broker_that_is_away_is_no_mistake(self):
        self.configure(bus='rabbit://u:hush@127.0.0.1:1/')
        self.sync()
        log = self.state / 'log'
        with log.open('wb') as output:
            started = forks.start('manila_lite.cmd.scheduler:main', f'--config-file={self.config}', stdout=output,
                                  stderr=output)
        self.addCleanup(started.wait)
        self.addCleanup(started.terminate)
        waiting.until(lambda: 'the bus does not answer; work is found by polling' in log.read_text(), log.read_text)
