# SPDX-License-Identifier: Apache-2.0
"""Outages of the database and of the broker: one line of each service when one begins, and one when it ends."""

import http.client
import json
import os
import re
import signal
import time

import testtools

from manila_lite.tests import hush, process, waiting
from manila_lite.tests.functional.clients import terminal
from manila_lite.tests.services import broker, daemon, databases, places

SERVICES = ('api', 'scheduler', 'share')
#: Seconds in which a log without limit gets hundreds of lines.
LONG = 6
#: A line of a level that somebody reads, and one about work that was done.
_SAID = re.compile(r'\S+ \S+ \d+ (WARNING|ERROR|CRITICAL) ')
_DONE = re.compile(r'\S+ \S+ \d+ INFO manila_lite\.')


class OutageTest(testtools.TestCase):
    """API, scheduler and share manager in processes of their own, with a log for each, and a server that is away at times."""

    SERVER = None
    SUBJECT = ''

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.SERVER()
        try:
            cls.server.need()
        except daemon.Missing as missing:
            raise cls.skipException(str(missing)) from None
        cls.server.setUp()
        cls.addClassCleanup(cls.server.cleanUp)

    def setUp(self):
        super().setUp()
        self.parts = self.useFixture(process.Parts(self.options()))
        self.addCleanup(self.is_back)
        self.logs = {name: self.parts.state / f'log-{name}' for name in SERVICES}
        self.running = {}
        for name, log in self.logs.items():
            self.parts.log = log
            self.addCleanup(hush.check, log)
            self.running[name] = self.parts.run(name)
        self.parts.until(self.parts.answers, 'the API answers')
        self.parts.ok('POST', '/types', process.DEFAULT_TYPE)
        self.parts.until(self.parts.pools, 'a pool')
        self.share_is_created()
        self.begun = {name: len(log.read_text()) for name, log in self.logs.items()}

    def options(self):
        """Return lines of the configuration by which the services use the server."""
        raise NotImplementedError

    def asked(self):
        """Ask the API for something that needs the server. Say whether that is answered as it should be without."""
        raise NotImplementedError

    def is_back(self):
        if self.server.process is None:
            self.server.start()

    def share_is_created(self):
        share = self.parts.share()
        self.parts.wait(f'/shares/{share}', 'share', 'available')

    def said(self, name):
        """Return the lines of a service since the start that somebody should read; tracebacks too."""
        lines = self.logs[name].read_text()[self.begun[name] :].splitlines()
        return [line for line in lines if _SAID.match(line) or 'Traceback' in line]

    def everybody_says(self, words):
        def have_said():
            return all(any(words in line for line in self.said(name)) for name in SERVICES)

        waiting.until(have_said, lambda: {name: self.said(name) for name in SERVICES}, pause=0.2)

    def readiness(self):
        wire = http.client.HTTPConnection('127.0.0.1', self.parts.port, timeout=waiting.LIMIT)
        self.addCleanup(wire.close)
        wire.request('GET', '/readiness')
        answer = wire.getresponse()
        document = json.loads(answer.read())
        return answer.status, document['missing'], document['degraded']

    def until_ready_is(self, *expected):
        waiting.until(lambda: self.readiness() == expected, self.readiness)

    def outage(self, *readiness):
        """Stop the server for a while; ``readiness`` is that of the API meanwhile. Look at the logs."""
        self.server.stop()
        waiting.until(lambda: self.asked() and self.said('api'), lambda: self.said('api'))
        self.everybody_says('does not answer')
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            self.asked()
            time.sleep(0.2)  # sleeps: what is tried again and again needs some time for it
        self.until_ready_is(*readiness)
        self.server.start()
        self.everybody_says('answers again')
        self.until_ready_is(200, [], [])
        self.share_is_created()
        for name in SERVICES:
            said = self.said(name)
            self.assertEqual(2, len(said), '\n'.join(said))
            self.assertRegex(said[0], rf' WARNING .*\[-\] {self.SUBJECT}.* does not answer\. ')
            self.assertRegex(said[1], rf' WARNING .*\[-\] {self.SUBJECT}.* answers again, after \d+ s$')
            others = [
                line
                for line in self.logs[name].read_text()[self.begun[name] :].splitlines()
                if not _DONE.match(line)
            ]
            self.assertLess(len(others), 10, '\n'.join(others))


class DatabaseTest(OutageTest):
    """The database is away for a while."""

    SUBJECT = 'The database'

    def options(self):
        url = self.useFixture(places.EmptyDatabase(None, self.server.url)).url
        return f'[database]\nconnection = {url}\n'

    def asked(self):
        return self.parts.call('GET', '/shares')[0] == 503

    def outage(self, *readiness):
        """Do so beside commands that go on looking at the database."""
        looking = [self.command('top', '--every', '0.5'), self.command('watch')]
        looking[0].says('SERVICE')
        super().outage(*readiness)
        for running in looking:
            running.says(re.compile('[Tt]he database does not answer'))
        begun = len(looking[0].out)
        waiting.until(lambda: 'SERVICE' in looking[0].out[begun:], looking[0].out[-1000:])
        self.assertNotIn('does not answer', looking[0].out[begun:])
        looking[1].says('share.create')
        for running in looking:
            running.interrupt()
            self.assertEqual(130, running.ended())
            self.assertNotIn('Traceback', running.out)

    def command(self, *words):
        running = terminal.Running(
            f'--config-file={self.parts.config}',
            *words,
            env=dict(os.environ),
            at_terminal=True,
            command='manila_lite.cmd.manage:main',
        )
        self.addCleanup(running.close)
        return running

    def replaced(self):
        """Send SIGHUP, and wait until all children have successors, which miss the database."""
        old = {child.pid for started in self.running.values() for child in process.children(started)}
        for started in self.running.values():
            started.send_signal(signal.SIGHUP)
        for name, started in self.running.items():
            self.parts.until(
                lambda name=name, started=started: (
                    self.asked()
                    and [
                        child
                        for child in process.children(started)
                        if child.pid not in old and self.said_by(name, child.pid)
                    ]
                ),
                name,
            )

    def said_by(self, name, pid):
        return any(line.split()[2] == str(pid) for line in self.said(name))


class PostgreSQL(DatabaseTest):
    """It is PostgreSQL."""

    SERVER = databases.PostgreSQL

    def test_each_service_says_it_once(self):
        self.outage(503, ['the database does not answer'], [])

    def test_children_that_start_without_it_wait_for_it_and_end_soon(self):
        self.server.stop()
        waiting.until(self.asked, self.parts.tail)
        self.replaced()
        self.server.start()
        self.share_is_created()
        self.server.stop()
        waiting.until(self.asked, self.parts.tail)
        self.replaced()
        for started in self.running.values():
            started.terminate()
        for name, started in self.running.items():
            # One that waits for what is away is killed after a minute, and has another status.
            self.assertEqual(0, started.wait(timeout=waiting.LIMIT), self.logs[name].read_text()[-3000:])
            self.assertNotIn('Traceback', self.logs[name].read_text())


class MariaDB(DatabaseTest):
    """It is MariaDB."""

    SERVER = databases.MariaDB

    def test_each_service_says_it_once(self):
        self.outage(503, ['the database does not answer'], [])


class Broker(OutageTest):
    """The broker is away for a while: work is found by polling."""

    SERVER = broker.RabbitMQ
    SUBJECT = 'The broker'

    def options(self):
        return f'transport_url = {self.server.url}\n'

    def asked(self):
        return self.parts.share() is not None

    def test_each_service_says_it_once(self):
        self.outage(200, [], ['the broker does not answer: work is found by polling, seconds later'])
