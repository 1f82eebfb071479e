# SPDX-License-Identifier: Apache-2.0
"""A mistake of the first day is one line and exit status 1, before anything starts."""

import contextlib
import http.client
import json
from pathlib import Path

import fixtures
import sqlalchemy as sa
import testtools
from oslo_config import cfg

from manila_lite.cmd import preflight
from manila_lite.db.core import engine
from manila_lite.db.maintenance import schema_migrations, schema_revisions
from manila_lite.siblings.compute.cmd import COMPUTE
from manila_lite.tests import forks, process, waiting
from manila_lite.tests.services import broker, daemon, keystone, places

_CONFIG = """
[DEFAULT]
state_path = {state}
host = here
auth_strategy = noauth
enabled_share_backends = alpha
osapi_share_listen_port = {port}
transport_url = {bus}
[database]
connection = {database}
[alpha]
driver = dummy
"""
#: Section of the compute service for its login at the share service.
_SHARE_SERVICE = """
[share_service]
auth_type = password
auth_url = {url}
username = nova
password = {password}
project_name = service
user_domain_name = Default
project_domain_name = Default
[compute]
driver = fake
my_shared_fs_storage_ip = 10.0.0.1
listen_port = {port}
"""
_CMD, _COMPUTE = 'manila_lite.cmd.{}:main', 'manila_lite.siblings.compute.cmd:{}'
PROGRAMS = tuple(map(_CMD.format, ('api', 'scheduler', 'share')))
ALL_IN_ONE = _CMD.format('all_in_one')


class PreflightTest(testtools.TestCase):
    """A configuration that cannot work."""

    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.config = self.state / 'c.conf'
        self.url = self.useFixture(places.EmptyDatabase(self.state)).url

    def configure(self, database=None, bus='inproc://', port=0):
        self.config.write_text(
            _CONFIG.format(state=self.state / 'lib', bus=bus, database=database or self.url, port=port)
        )

    def refused(self, pattern, programs=PROGRAMS):
        """Start the programs, and expect one line each."""
        for program in programs:
            done = forks.run(program, f'--config-file={self.config}')
            self.assertEqual(1, done.returncode, done.stdout + done.stderr)
            said = [line for line in done.stderr.splitlines() if line.startswith('manila_lite: ')]
            self.assertEqual([said[-1:], 1], [done.stderr.splitlines()[-1:], len(said)], done.stderr)
            self.assertRegex(said[0], pattern)
            self.assertNotIn('Traceback', done.stderr)
            self.assertNotIn('hush', done.stderr)

    def started(self, program):
        """Start a program that goes on; return the file of its log."""
        log = self.state / 'log'
        with log.open('wb') as output:
            started = forks.start(program, f'--config-file={self.config}', stdout=output, stderr=output)
        self.addCleanup(started.wait)
        self.addCleanup(started.terminate)
        return log

    def readiness(self, port, path='/readiness'):
        """Return the status, and what is missing and degraded, each in words; None while the API does not answer."""
        try:
            status, document = self.answer(port, path)
        except OSError:
            return None
        return (
            status,
            document.get('missing'),
            [word for word in document.get('degraded') or () if 'no scheduler' not in word],
        )

    def answer(self, port, path, headers=None):
        """Return the status and the document of an answer."""
        with contextlib.closing(http.client.HTTPConnection('127.0.0.1', port, timeout=waiting.LIMIT)) as wire:
            wire.request('GET', path, headers=headers or {})
            answer = wire.getresponse()
            text = answer.read()
        return answer.status, json.loads(text) if text[:1] == b'{' else {}

    def until_ready_is(self, port, *expected):
        waiting.until(
            lambda: self.readiness(port) == expected,
            lambda: (self.readiness(port), (self.state / 'log').read_text()),
        )

    def sync(self):
        done = forks.run('manila_lite.cmd.manage:main', f'--config-file={self.config}', 'db', 'sync')
        self.assertEqual(0, done.returncode, done.stderr)


class Database(PreflightTest):
    """Each service, with a database that is away, or not its own."""

    def test_database_that_is_away(self):
        for url in ('mysql+pymysql://u:hush@127.0.0.1:1/x', 'postgresql+psycopg2://u:hush@127.0.0.1:1/x'):
            self.configure(url)
            self.refused(r'^manila_lite: \[database\] connection: .*127\.0\.0\.1', (*PROGRAMS, ALL_IN_ONE))

    def test_wrong_password_of_the_database(self):
        if places.backend() == 'sqlite':
            self.skipTest('only MariaDB has passwords, and PostgreSQL')
        self.configure(sa.make_url(self.url).set(password='hush').render_as_string(hide_password=False))
        self.refused(r'^manila_lite: \[database\] connection: .*(denied|failed)')

    def test_database_without_tables(self):
        self.configure()
        self.refused(
            r'^manila_lite: \[database\] connection: the database has no tables yet; run "manila-manage db sync"$'
        )

    def test_schema_of_an_earlier_release(self):
        self.configure()
        self.sync()
        engine = sa.create_engine(self.url)
        with engine.begin() as conn:
            conn.execute(sa.text("UPDATE alembic_version SET version_num = '0003'"))
        engine.dispose()
        self.refused(
            r'^manila_lite: \[database\] connection: the schema is at revision 0003, and this release needs \d{4}; '
            'run "manila-manage db sync"$'
        )


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
        self.refused(
            r"^manila_lite: transport_url: the broker on 127\.0\.0\.1:\d+ refuses the login of user '\w+': "
        )
        self.configure(bus=str(url.set(database='none').render_as_string(hide_password=False)))
        self.refused(
            r"^manila_lite: transport_url: the broker on 127\.0\.0\.1:\d+ refuses user '\w+' the virtual host 'none'"
        )

    def test_broker_that_is_away_is_no_mistake(self):
        self.configure(bus='rabbit://u:hush@127.0.0.1:1/')
        self.sync()
        log = self.started(_CMD.format('scheduler'))
        waiting.until(
            lambda: 'the bus does not answer; work is found by polling' in log.read_text(), log.read_text
        )

    def test_api_without_a_broker_is_ready_and_says_what_is_degraded(self):
        port = process.free_port()
        self.broker.stop()
        self.configure(bus=self.broker.url, port=port)
        self.sync()
        self.started(_CMD.format('api'))
        self.until_ready_is(
            port, 200, [], ['the broker does not answer: work is found by polling, seconds later']
        )
        self.broker.start()
        self.until_ready_is(port, 200, [], [])


class Identity(PreflightTest):
    """Keystone with another password, or away. The compute service logs in there, too."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keystone = keystone.Keystone()
        try:
            cls.keystone.need()
        except daemon.Missing as missing:
            raise cls.skipException(str(missing)) from None
        cls.keystone.setUp()
        cls.addClassCleanup(cls.keystone.cleanUp)

    def configure(self, *values, right=True, more='', **named):
        super().configure(*values, **named)
        login = (
            self.keystone.middleware
            if right
            else self.keystone.middleware.replace(self.keystone.password, 'hush')
        )
        self.config.write_text(
            self.config.read_text().replace('auth_strategy = noauth\n', '') + f'[DEFAULT]\n{login}{more}'
        )

    def test_login_that_keystone_refuses(self):
        self.configure(right=False)
        self.sync()
        self.refused(
            r'^manila_lite: \[keystone_authtoken\] username: Keystone at http://127\.0\.0\.1:\d+/v3 refuses the login '
            r"of 'manila': wrong name or password, or no role in the project ",
            (PROGRAMS[0], ALL_IN_ONE),
        )

    def test_section_that_describes_no_login(self):
        self.configure()
        self.sync()
        text = self.config.read_text()
        self.config.write_text(text.replace('auth_type = password\n', ''))
        self.refused(r'^manila_lite: \[keystone_authtoken\] auth_type: missing; ', PROGRAMS[:1])
        self.config.write_text(text.replace('auth_url = ', 'other_url = '))
        self.refused(r'^manila_lite: \[keystone_authtoken\] auth_type = password: .*auth_url', PROGRAMS[:1])

    def test_login_of_the_compute_service_that_keystone_refuses(self):
        self.configure(more=_SHARE_SERVICE.format(url=self.keystone.url, password='hush', port=0))
        self.refused(
            r'^manila_lite: \[share_service\] username: Keystone at http://127\.0\.0\.1:\d+/v3 refuses the login of '
            "'nova'",
            tuple(map(_COMPUTE.format, ('api', 'host_agent', 'both'))),
        )

    def test_agent_before_its_api_made_tables(self):
        self.configure(
            more=_SHARE_SERVICE.format(url=self.keystone.url, password=self.keystone.password, port=0)
        )
        self.refused(
            r'^manila_lite: \[database\] connection: the database has no tables yet; start mlite-compute-api, which '
            'makes them$',
            [_COMPUTE.format('host_agent')],
        )

    def test_database_of_another_service(self):
        self.configure(
            more=_SHARE_SERVICE.format(url=self.keystone.url, password=self.keystone.password, port=0)
        )
        self.sync()
        other = r'^manila_lite: \[database\] connection: this is the database of another service: it has no table '
        self.refused(f'{other}servers$', tuple(map(_COMPUTE.format, ('api', 'host_agent', 'both'))))
        self.configure(
            self.useFixture(places.EmptyDatabase(Path(self.useFixture(fixtures.TempDir()).path))).url,
            more=_SHARE_SERVICE.format(url=self.keystone.url, password=self.keystone.password, port=0),
        )
        conf = COMPUTE.configure([f'--config-file={self.config}'], conf=cfg.ConfigOpts())
        schema_migrations.upgrade(engine.Database(conf, COMPUTE.migrations))
        # Whose database it is does not matter to the log, which says that it answers again.
        self.assertEqual(
            schema_revisions.head(engine.Database(conf, COMPUTE.migrations)), preflight.reach(conf)
        )
        self.refused(f'{other}shares$', (*PROGRAMS, ALL_IN_ONE))

    def started_without_keystone(self, program, *sections):
        """Start an API before Keystone."""
        port = process.free_port()
        self.configure(
            port=port,
            more=_SHARE_SERVICE.format(url=self.keystone.url, password=self.keystone.password, port=port),
        )
        if program in PROGRAMS:
            self.sync()
        self.addCleanup(self.keystone_is_back)
        self.keystone.stop()
        log = self.started(program)
        self.until_ready_is(port, 503, ['Keystone does not answer: tokens cannot be checked'], [])
        self.assertEqual(200, self.readiness(port, '/healthcheck')[0])
        said = [line for line in log.read_text().splitlines() if self.keystone.url in line]
        self.assertEqual(len(sections), len(said), said)
        for section, line in zip(sections, said, strict=True):
            self.assertRegex(
                line,
                rf' WARNING .*\[{section}\] auth_url: Keystone at {self.keystone.url} does not answer, and ',
            )
        self.keystone_is_back()
        self.until_ready_is(port, 200, [], [])
        return port, log

    def keystone_is_back(self):
        if self.keystone.process is None:
            self.keystone.start()

    def test_keystone_that_is_away_is_no_mistake(self):
        """Start the API without it. Then lose it: that is said once, too."""
        port, log = self.started_without_keystone(PROGRAMS[0], 'keystone_authtoken')
        token = {'X-Auth-Token': self.keystone.connect('demo', 'demo').session.get_token()}
        before = len(log.read_text())
        self.keystone.stop()
        for _ in range(5):
            self.assertEqual(503, self.answer(port, '/v2/shares', token)[0])
        self.keystone_is_back()
        waiting.until(lambda: 'Keystone answers again' in log.read_text(), log.read_text)
        self.assertEqual(200, self.answer(port, '/v2/shares', token)[0])
        said = [
            line
            for line in log.read_text()[before:].splitlines()
            if ' INFO ' not in line and 'in-process' not in line
        ]
        self.assertEqual(2, len(said), '\n'.join(said))
        self.assertRegex(
            said[0], r' WARNING .*\[-\] Keystone does not answer\. .*Unable to establish connection'
        )

    def test_keystone_that_is_away_is_no_mistake_of_the_compute_service(self):
        self.started_without_keystone(_COMPUTE.format('api'), 'share_service', 'keystone_authtoken')
