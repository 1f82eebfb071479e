# SPDX-License-Identifier: Apache-2.0
"""A copy by a host, of which two processes can be the share manager: one hangs or dies, and the other goes on."""

import os
import signal
import unittest

import testtools

from manila_lite.tests.crash import files
from manila_lite.tests.crash.deployment import Deployment, Servers
from manila_lite.tests.crash.subjects import Cell

#: Seconds; on a busy machine, a process would lose a shorter lease. The rate of copies, in MiB a second.
_LEASE, _RATE = 15, 2


class TakenOver(testtools.TestCase):
    """Two processes run all backends, each its own with a lease of seconds."""

    def setUp(self):
        super().setUp()
        if lacks := files.lacks():
            raise unittest.SkipTest(f'a copy by the host needs {lacks}')
        self.deployment = self.useFixture(
            Deployment(
                self.useFixture(Servers()),
                roles=('api', 'scheduler', 'share1', 'share2'),
                lease=_LEASE,
                more=f'data_copy_bandwidth_limit = {_RATE}',
            )
        )
        self.cell = Cell(self.deployment, 'p')

    def begun(self, seconds):
        """Begin to copy a share with a large file, which takes so many seconds. Return the pid of the process that copies."""
        cell = self.cell
        cell.with_files()
        [instance] = cell.ok('GET', f'/shares/{cell.share}/instances')['share_instances']
        self.content = os.urandom(seconds * _RATE << 20)
        (self.deployment.state / 'served' / instance['id'] / 'big').write_bytes(self.content)
        wanted = cell._copy_share()
        cell.ok('POST', f'/shares/{cell.share}/action', {'migration_start': wanted})
        self.deployment.eventually(lambda: self.progress()['total_progress'] > 0, 'it copies')
        self.backend = wanted['host'].partition('@')[2]
        return self.deployment.orders.worker(self.backend)

    def progress(self):
        status, document = self.deployment.call(
            'POST', f'/shares/{self.cell.share}/action', {'migration_get_progress': None}, 'p'
        )
        return document if status == 200 else {'total_progress': 0, 'task_state': None}

    def task_is(self, state):
        self.deployment.eventually(
            lambda: self.progress()['task_state'] == state, f'the task state is {state}'
        )

    def goes_on(self, victim):
        """Check that another process completes the migration."""
        self.task_is('data_copying_completed')
        self.deployment.eventually(
            lambda: self.deployment.orders.worker(self.backend) != victim, 'another process works there'
        )
        self.cell.ok('POST', f'/shares/{self.cell.share}/action', {'migration_complete': None})
        self.task_is('migration_success')
        [instance] = self.deployment.eventually(
            lambda: (
                len(found := self.cell.ok('GET', f'/shares/{self.cell.share}/instances')['share_instances'])
                == 1
                and found
            ),
            'the source is deleted',
        )
        self.place = self.deployment.state / 'served' / instance['id']
        self.is_intact()

    def is_intact(self):
        self.assertEqual(self.content, (self.place / 'big').read_bytes())
        self.assertEqual(sorted(('big', self.cell.share)), sorted(path.name for path in self.place.iterdir()))

    def test_another_process_goes_on_when_the_copying_one_dies(self):
        victim = self.begun(8)
        self.deployment.kill(victim)
        self.goes_on(victim)

    def test_copy_of_a_process_that_hangs_is_ended_by_the_one_that_takes_over(self):
        victim = self.begun(2 * _LEASE)
        os.kill(victim, signal.SIGSTOP)
        self.addCleanup(os.kill, victim, signal.SIGCONT)
        self.goes_on(victim)
        self.assertIn('A copy of another process at', self.deployment.said_by('share'))
        os.kill(victim, signal.SIGCONT)
        self.deployment.eventually(
            lambda: 'which stops its work there' in self.deployment.said_by('share'), 'it stands back'
        )
        self.is_intact()
