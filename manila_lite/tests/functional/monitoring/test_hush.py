# SPDX-License-Identifier: Apache-2.0
"""No log has a secret: check the scan of all logs, and make every call with secrets."""

import json
import logging
import pathlib

import fixtures
import testtools
from oslo_utils import uuidutils

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.v2 import CALLS
from manila_lite.tests import fixtures as service_fixtures
from manila_lite.tests import hush, process
from manila_lite.tests.functional import base, world

LOG = logging.getLogger('manila_lite.tests')
#: Headers that a client may send with every request.
HEADERS = {
    name: hush.secret(name)
    for name in (
        'X-Service-Token',
        'Cookie',
        'Authorization',
        'X-Subject-Token',
        'OpenStack-Auth',
        'X-OpenStack-Request-Id',
        'Idempotency-Key',
        'User-Agent',
        'Referer',
        'X-Forwarded-For',
    )
}


class Bites(testtools.TestCase):
    """The scan fails where it should, and only there."""

    def heard(self, say):
        """Return the complaint of the scan about the logs of ``say()``."""
        ear = hush.Ear()
        ear.setUp()
        say()
        try:
            ear.cleanUp()
        except AssertionError as complaint:
            return str(complaint)
        return ''

    def test_scan_finds_secrets_in_messages_and_tracebacks(self):
        secret = hush.secret('password')

        def fail():
            try:
                raise ValueError(secret)
            except ValueError:
                LOG.exception('failed')

        for say in (lambda: LOG.info('user %s', secret), lambda: LOG.debug({'a': [secret]}), fail):
            self.assertIn(secret, self.heard(say))
        other, token = hush.keep(uuidutils.generate_uuid()), 'gAAAAABl' + 'x' * 180
        for secret in (other, token):
            self.assertIn(secret, self.heard(lambda secret=secret: LOG.info('X-Auth-Token: %s', secret)))
        self.assertEqual('', self.heard(lambda: LOG.error('a harmless line')))

    def test_scan_finds_a_key_seen_in_an_answer(self):
        self.assertEqual('', self.heard(lambda: LOG.info('0123456789abcdef0123')))
        hush.note('{"transfer": {"auth_key": "0123456789abcdef0123"}}')
        self.assertIn(
            '0123456789abcdef0123', self.heard(lambda: LOG.info('accepted with 0123456789abcdef0123'))
        )

    def test_secret_in_the_logs_of_a_service_fails_its_cleanup(self):
        service = service_fixtures.Service(parts=())
        service.setUp()
        LOG.warning('connected to %s', hush.secret('database'))
        self.assertIn('what was logged', str(self.assertRaises(AssertionError, service.cleanUp)))

    def test_secret_in_the_log_file_of_a_process_fails_its_cleanup(self):
        lite = process.Lite()
        lite.setUp()
        lite.log.write_text(f'a line\nToken {lite.token}\nanother\n')
        self.assertIn('in 1 lines', str(self.assertRaises(AssertionError, lite.cleanUp)))

    def test_every_test_caller_has_a_secret_token(self):
        """Check that callers have secret tokens, so that all functional tests try them."""
        self.assertIn(hush.MARK, base.Api(None).token)
        self.assertIn(hush.MARK, process.Lite().token)


class Every(base.ServiceTest):
    """Make each call with secrets in its headers, its query, the fields for secrets, and unexpected places.

    The logs of every level are scanned when the service ends.
    """

    EXTRA = '[oslo_messaging_notifications]\ndriver = log\n[DEFAULT]'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world = world.make(cls.service, cls.admin, base.Api(cls.service.app, 'u', 'p', 'member,reader'))

    def test_no_call_logs_secrets(self):
        for op in CALLS:
            version = versions.MAX if op.lives(versions.MAX) else versions.minor(op.until)
            path = (
                op.path_at(version).format_map(self.world)
                + f'?access_key={hush.secret("query")}&token={hush.secret("q")}'
            )
            for body in self.bodies(op, version):
                answer = self.service.app.request(
                    f'/v2{path}',
                    method=op.method,
                    body=body,
                    expect_errors=True,
                    headers={
                        **HEADERS,
                        'X-Auth-Token': f'u:p:admin:{hush.secret("token")}',
                        'Content-Type': 'application/json',
                        'X-OpenStack-Manila-API-Version': versions.show(version),
                    },
                )
                hush.note(answer.text)

    def bodies(self, op, version):
        """Yield bodies: empty if the call takes none; else a broken one, and one with a secret in each field in turn."""
        if op.body_at(version) is None:
            yield b''
            return
        yield f'{{"password": "{hush.secret("broken")}'.encode()
        yield json.dumps({hush.secret('key'): hush.secret('value')}).encode()
        for field in world.body_fields(op, version):
            yield json.dumps(
                world.planted(op, version, self.world, field.name, hush.secret(field.name))
            ).encode()


class Forged(base.ServiceTest):
    PARTS = ()

    def test_line_breaks_in_a_request_add_no_log_lines(self):
        """Check that line breaks in a request start no new line in the log, neither in the message nor in its context."""
        lines = []
        handler = logging.StreamHandler(_Lines(lines))
        handler.setFormatter(logging.getLogger().handlers[0].formatter)
        logging.getLogger().addHandler(handler)
        self.addCleanup(logging.getLogger().removeHandler, handler)
        for op in CALLS:
            version = versions.MAX if op.lives(versions.MAX) else versions.minor(op.until)
            path = op.path_at(version).format_map(_Evil())
            for project in ('', '/evil%0aFORGED%20again'):
                self.service.app.request(
                    f'/v2{project}{path}',
                    method=op.method,
                    body=json.dumps(world.body(op, version, _Evil())).encode(),
                    expect_errors=True,
                    headers={
                        'Content-Type': 'application/json',
                        'X-OpenStack-Request-Id': 'req-\tFORGED',
                        'X-OpenStack-Manila-API-Version': versions.show(version),
                    },
                )
        self.assertGreater(len(lines), len(CALLS))
        self.assertEqual([], [line for line in lines if ' FORGED' in line or line.startswith('FORGED')])
        # Every line is the start of a record.
        self.assertEqual([], [line for line in lines if line.startswith('] ') or ' again' in line])


class _Evil(dict):
    """Ids with line breaks."""

    def __missing__(self, key):
        return 'evil%0aFORGED%0d%0a%c2%85FORGED%e2%80%a8FORGED%20again'


class _Lines:
    """A stream that keeps its lines, as a reader of a log file sees them."""

    def __init__(self, lines):
        self._lines = lines

    def write(self, text):
        self._lines += text.splitlines()

    def flush(self):
        pass


class Failing(testtools.TestCase):
    def test_connection_errors_do_not_show_the_database_password(self):
        """Check that the errors of a server that refuses a connection do not contain the password."""
        secret = hush.secret('database')
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'c.conf'
        from manila_lite.tests import forks

        for url in (
            f'postgresql+psycopg2://u:{secret}@127.0.0.1:{process.free_port()}/d',
            f'mysql+pymysql://u:{secret}@127.0.0.1:{process.free_port()}/d',
        ):
            path.write_text(
                f'[DEFAULT]\ntransport_url = rabbit://u:{secret}@127.0.0.1:{process.free_port()}/\ndebug = true\n'
                f'[database]\nconnection = {url}\nmax_retries = 1\nretry_interval = 0\n'
            )
            done = forks.run('manila_lite.cmd.manage:main', f'--config-file={path}', 'db', 'version')
            self.assertNotEqual(0, done.returncode)
            self.assertNotEqual('', done.stderr)
            self.assertNotIn(secret, done.stdout + done.stderr)
