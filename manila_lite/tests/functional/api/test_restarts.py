# SPDX-License-Identifier: Apache-2.0
"""Restarts of an API are not felt: clients that ask all the time get an answer to every request."""

import collections
import contextlib
import http.client
import itertools
import json
import signal
import socket
import threading

import psutil
import testscenarios
import testtools
import urllib3

from manila_lite.tests import process, waiting

WORKERS = 2
#: A body that comes in two parts: the second one after the service was told to end.
_TYPE = json.dumps(process.DEFAULT_TYPE).encode()
_SIBLING = """
[DEFAULT]
state_path = {state}
host = here
auth_strategy = noauth
transport_url = inproc://
[share_service]
auth_type = admin_token
endpoint = http://127.0.0.1:1/v2
token = other:service:service
[{name}]
listen_port = {port}
api_workers = {workers}
"""


class Client(threading.Thread):
    """A client that sends one request after the other, and counts the answers. It never tries one again.

    Like all clients, one that keeps its connection looks before each request whether the server has closed it.
    """

    def __init__(self, url, keeps):
        super().__init__(daemon=True)
        self.answers = collections.Counter()
        self._url, self._keeps = url, keeps
        self._over = threading.Event()

    def run(self):
        with urllib3.PoolManager(retries=False, timeout=waiting.LIMIT) as pool:
            while not self._over.is_set():
                try:
                    answer = pool.request(
                        'GET', self._url, headers={} if self._keeps else {'Connection': 'close'}
                    )
                    self.answers[answer.status] += 1
                except urllib3.exceptions.HTTPError as bad:
                    self.answers[f'{type(bad).__name__}: {bad}'] += 1

    def end(self):
        self._over.set()
        self.join(waiting.LIMIT)


class RestartsTest(testtools.TestCase):
    """An API with two processes, and its clients."""

    def setUp(self):
        super().setUp()
        self.parts = self.useFixture(process.Parts(f'osapi_share_workers = {WORKERS}\n'))

    def started(self, program='manila_lite.cmd.api:main', config=None):
        self.master = self.parts.run(program, config=config)
        self.parts.until(lambda: self.parts.answers() and len(self.workers()) == WORKERS, 'the API answers')

    def workers(self):
        return {child.pid for child in process.children(self.master)}

    def clients(self, path='/v2/types'):
        """Start clients, of both kinds."""
        clients = [
            Client(f'http://127.0.0.1:{self.parts.port}{path}', keeps) for keeps in (True, True, False, False)
        ]
        for client in clients:
            self.addCleanup(client.end)
            client.start()
        self.go_on(clients)
        return clients

    def go_on(self, clients):
        """Wait until each client has got some more answers."""
        least = {client: client.answers.total() + 10 for client in clients}
        waiting.until(
            lambda: all(client.answers.total() > some for client, some in least.items()), self.parts.tail
        )

    def replaced(self, old):
        """Wait until there are new processes, and no others."""
        self.parts.until(lambda: len(now := self.workers()) == WORKERS and not now & old, 'new processes')

    def all_answered(self, clients):
        for client in clients:
            client.end()
        self.assertEqual(
            [{200}] * len(clients),
            [set(client.answers) for client in clients],
            [client.answers for client in clients],
        )

    def restarts_are_not_felt(self, clients):
        for _ in range(3):
            old = self.workers()
            self.master.send_signal(signal.SIGHUP)
            self.replaced(old)
            self.go_on(clients)
        self.all_answered(clients)
        self.assertIsNone(self.master.poll())


class Siblings(testscenarios.WithScenarios, RestartsTest):
    """The APIs of the siblings, which share the server."""

    scenarios = [
        ('compute', {'name': 'compute', 'path': '/v2.1/servers'}),
        ('dataproc', {'name': 'dataproc', 'path': '/v2/clusters'}),
    ]

    def test_every_request_is_answered_while_the_processes_are_replaced(self):
        config = self.parts.state / f'{self.name}.conf'
        config.write_text(
            _SIBLING.format(state=self.parts.state, name=self.name, port=self.parts.port, workers=WORKERS)
        )
        self.started(f'manila_lite.siblings.{self.name}.cmd:api', config)
        self.restarts_are_not_felt(self.clients(self.path))


class Restarts(RestartsTest):
    """The API of the share service."""

    def test_every_request_is_answered_while_the_processes_are_replaced(self):
        self.started()
        self.restarts_are_not_felt(self.clients())

    def test_every_request_is_answered_when_the_files_are_read_again_and_again(self):
        """Send SIGHUP faster than processes start; in the end, all have the newest configuration."""
        self.started()
        self.parts.ok('POST', '/types', process.DEFAULT_TYPE)
        # Nobody knows how many shares are made until all processes have the last name.
        self.parts.ok('PUT', '/quota-sets/p', {'quota_set': {'shares': -1, 'gigabytes': -1}})
        clients = self.clients()
        old = self.workers()
        names = ['default', *(f'none{number}' for number in range(4)), 'default']
        for before, after in itertools.pairwise(names):
            self.parts.edit(f'default_share_type = {before}', f'default_share_type = {after}')
            self.master.send_signal(signal.SIGHUP)
            self.go_on(clients[:1])
        self.replaced(old)
        self.parts.until(
            lambda: all(self.creates() for _ in range(4 * WORKERS)), 'all have read the last name'
        )
        self.go_on(clients)
        self.all_answered(clients)

    def creates(self):
        """Say whether the process that gets the request finds the default type."""
        return self.parts.call('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})[0] == 200

    def test_processes_stay_if_their_successors_cannot_start(self):
        self.started()
        clients = self.clients()
        old = self.workers()
        self.parts.edit('auth_strategy = noauth', 'auth_strategy = nonsense')
        self.master.send_signal(signal.SIGHUP)
        self.parts.until(
            lambda: 'Cannot start yet, trying again' in self.parts.log.read_text(), 'the mistake is said'
        )
        self.go_on(clients)
        self.assertLessEqual(old, self.workers())
        self.parts.edit('auth_strategy = nonsense', 'auth_strategy = noauth')
        self.master.send_signal(signal.SIGHUP)
        self.replaced(old)
        self.go_on(clients)
        self.all_answered(clients)

    @contextlib.contextmanager
    def under_way(self):
        """Send half of a request; then, after the context, the rest. The answer must be the last of its connection."""
        with contextlib.closing(
            http.client.HTTPConnection('127.0.0.1', self.parts.port, timeout=waiting.LIMIT)
        ) as wire:
            wire.putrequest('POST', '/v2/types')
            for name, value in (
                ('X-OpenStack-Manila-API-Version', '2.82'),
                ('Content-Type', 'application/json'),
                ('Content-Length', str(len(_TYPE))),
            ):
                wire.putheader(name, value)
            wire.endheaders(_TYPE[:10])
            port = wire.sock.getsockname()[1]
            self.parts.until(lambda: self.has_accepted(port), 'a process has the connection')
            yield
            wire.send(_TYPE[10:])
            answer = wire.getresponse()
            self.assertEqual((200, 'close'), (answer.status, answer.getheader('Connection')), answer.read())

    def has_accepted(self, port):
        """Say whether a process has accepted the connection of the client at this port: later ones could have it, too."""
        return any(
            wire.raddr and wire.raddr.port == port
            for child in process.children(self.master)
            for wire in child.net_connections()
        )

    def test_requests_under_way_are_answered_before_the_processes_end(self):
        self.started()
        with self.under_way():
            self.master.terminate()
            self.parts.until(self.refused, 'nobody else is let in')
        self.assertEqual(0, self.master.wait(timeout=waiting.LIMIT), self.parts.tail())

    def refused(self):
        with contextlib.closing(socket.socket()) as wire:
            return wire.connect_ex(('127.0.0.1', self.parts.port)) != 0

    def test_retired_processes_are_ended_with_their_master(self):
        """End the service while a retired process waits for the rest of a request."""
        self.started()
        old = self.workers()
        with self.under_way():
            self.master.send_signal(signal.SIGHUP)
            self.parts.until(
                lambda: len(self.workers() - old) == WORKERS and len(self.workers() & old) == 1, 'successors'
            )
            everybody = [psutil.Process(pid) for pid in self.workers()]
            self.master.terminate()
            self.parts.until(self.refused, 'nobody else is let in')
        self.assertEqual(0, self.master.wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertEqual([], psutil.wait_procs(everybody, timeout=waiting.LIMIT)[1])

    def test_port_that_another_process_has_is_one_line(self):
        self.started()
        second = self.parts.run('api')
        self.assertEqual(1, second.wait(timeout=waiting.LIMIT))
        said = f'manila_lite: cannot listen on 127.0.0.1:{self.parts.port}: Address already in use (options osapi_share_listen'
        self.assertIn(said, self.parts.log.read_text())
