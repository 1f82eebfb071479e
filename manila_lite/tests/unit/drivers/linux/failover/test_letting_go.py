# SPDX-License-Identifier: Apache-2.0
"""Letting go: the remains of a pool, and a log on a full disk, which stops nothing."""

import io
import os
import subprocess
import sys
from pathlib import Path

import fixtures
import psutil
import testtools

from manila_lite.drivers.linux.failover import letting_go
from manila_lite.drivers.linux.failover.task import FailoverTask
from manila_lite.host.daemon import Daemon
from manila_lite.tests import process, waiting


class LettingGoTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.task = FailoverTask('/dev/null', str(self.state), 'no-such-fabric', 'token')
        self.task.files.token()  # makes the folder of its files

    def test_networks_still_to_be_removed_are_a_remain(self):
        self.assertFalse(letting_go.has_remains(self.task))
        self.task.files.left.write_text('["s"]')
        self.assertTrue(letting_go.has_remains(self.task))
        letting_go.let_go(self.task)
        self.assertFalse(letting_go.has_remains(self.task))

    def test_users_of_the_pool_are_found(self):
        self.task.root.mkdir()
        inside = self.task.root / 'file'
        inside.touch()
        beside = self.state / 'pool-2'
        beside.mkdir()
        users = []
        for place in (self.task.root, beside):
            process = subprocess.Popen(['sleep', '1000'], cwd=place)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            users.append(process.pid)
        found = {process.pid for process in letting_go._users((str(self.task.root),))}
        self.assertEqual({users[0]}, found)
        self.assertTrue(psutil.pid_exists(users[1]))

    def test_processes_of_clients_of_a_cifs_server_are_killed_with_it(self):
        home = self.task.servers / 's' / 'cifs'
        home.mkdir(parents=True)
        daemon = Daemon(home / 'smbd.json')
        daemon.start(
            ['sh', '-c', 'sleep 1000 & wait'],
            self.state / 'out',
            start_key='',
            env={'PATH': os.environ['PATH']},
        )
        server = daemon.process()
        waiting.until(server.children, 'a process of a client')
        [client] = server.children()
        letting_go._kill_daemons(self.task)
        waiting.until(lambda: process.has_ended(client), 'its end')
        waiting.until(lambda: daemon.process() is None, 'the end of the server')

    def test_networks_are_removed_on_a_full_disk(self):
        """Have no room for the list of share servers: it is only for another guard."""
        (self.task.servers / 's').mkdir(parents=True)
        self.task.files.left.symlink_to('/dev/full')
        known = set()
        letting_go._remove_networks(self.task, known)
        self.assertEqual({'s'}, known)

    def test_processes_that_have_the_device_mounted_elsewhere_are_found(self):
        table = self.state / 'mountinfo'
        line = '36 35 0:34 /shares/s /target rw,nosuid - btrfs {} rw,commit=5'
        for source, found in (
            ('/dev/zero', True),
            ('/dev/full', False),
            ('/dev/none', False),
            ('zero', False),
        ):
            table.write_text(f'35 1 0:33 / / rw - tmpfs tmpfs rw\n{line.format(source)}\n')
            self.assertEqual(found, letting_go._has_mounted(table, Path('/dev/zero')), source)

    def test_log_on_a_full_disk_stops_nothing(self):
        with open('/dev/full', 'wb', buffering=0) as full:
            self.useFixture(fixtures.MonkeyPatch('sys.stderr', io.TextIOWrapper(full, write_through=True)))
            self.assertRaises(OSError, sys.stderr.write, 'words')
            letting_go.say('words')

    def test_trouble_does_not_end_the_letting_go(self):
        """Have the first try fail as when no process can be started; the second one lets go."""
        tries = []

        def fails_once(task, *_):
            tries.append(task)
            if len(tries) == 1:
                raise OSError('no memory for a process')
            return []

        self.useFixture(
            fixtures.MonkeyPatch('manila_lite.drivers.linux.failover.letting_go._try', fails_once)
        )
        letting_go.let_go(self.task)
        self.assertEqual(2, len(tries))
