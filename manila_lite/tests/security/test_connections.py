# SPDX-License-Identifier: Apache-2.0
"""Clients that connect and do not ask, or do not read, delay the answers to others by no more than a second."""

import resource

import psutil
import testscenarios
import testtools

from manila_lite.tests import process
from manila_lite.tests.functional import base
from manila_lite.tests.security import crowds

_CONFIG = """
[alpha]
driver = dummy
[console]
enabled = true
[api]
header_timeout = 2
body_timeout = 2
answer_timeout = 2
idle_timeout = 60
"""
_WHAT = ('/healthcheck', '/v2/shares')
#: Requests in a row, each answered within a second; and attempts, for the machine may be busy.
_QUESTIONS, _ROUNDS, _SECOND = 8, 3, 1.0
#: Largest growth of the log, and of the process, in bytes.
_LOG, _MEMORY = 200_000, 96 << 20


class Besieged(testtools.TestCase):
    """A service under the attack of a crowd of clients."""

    def setUp(self):
        super().setUp()
        self.lite = self.useFixture(process.Lite(_CONFIG))
        self.lite.start()
        crowds.ask(self.lite.port, '/openapi.json')  # the document is made once and kept
        self.server = psutil.Process(self.lite.process.pid)
        self.files, self.memory = self.descriptors(), self.server.memory_info().rss

    def descriptors(self):
        """Return the number of descriptors that are no connection to the database, which some are kept of."""
        return self.server.num_fds() - sum('.sqlite' in file.path for file in self.server.open_files())

    def limit(self, descriptors):
        resource.prlimit(
            self.server.pid,
            resource.RLIMIT_NOFILE,
            (descriptors, resource.prlimit(self.server.pid, resource.RLIMIT_NOFILE)[1]),
        )

    def answers(self):
        """Return the failed and late answers of the best round."""
        for _ in range(_ROUNDS):
            answers = [
                (path, *crowds.ask(self.lite.port, path, self.lite.token))
                for _ in range(_QUESTIONS)
                for path in _WHAT
            ]
            bad = [one for one in answers if one[1] != 200 or one[2] > _SECOND]
            if not bad:
                break
        return bad

    def withstands(self, kind, number):
        """Check that the service answers during the attack of a whole crowd, and that nothing of it is left."""
        with crowds.Crowd(self.lite.port, kind, number) as crowd:
            base.eventually(
                lambda: crowd.made >= number or not crowd.is_alive(), f'the crowd is {crowd.made}'
            )
            self.assertEqual([], self.answers())
            self.assertLess(self.server.memory_info().rss - self.memory, _MEMORY)
        base.eventually(lambda: self.descriptors() <= self.files + 8, 'descriptors are not given back')
        self.assertLess(self.lite.log.stat().st_size, _LOG)
        self.assertLess(self.server.memory_info().rss - self.memory, _MEMORY)
        self.assertEqual([], self.answers())


class Kinds(testscenarios.WithScenarios, Besieged):
    """Many more clients of one kind than threads."""

    scenarios = [(kind, {'kind': kind}) for kind in crowds.ATTACKS]

    def test_other_clients_are_answered(self):
        self.withstands(self.kind, 100)


class Descriptors(Besieged):
    """More idle clients than descriptors."""

    def test_other_clients_are_answered_during_1100_idle_connections(self):
        self.limit(1024)
        self.withstands('idle', 1100)

    def test_other_clients_are_answered_when_descriptors_run_out(self):
        self.limit(200)
        self.withstands('idle', 400)
        self.assertIn('No connection can be accepted', self.lite.log.read_text())
