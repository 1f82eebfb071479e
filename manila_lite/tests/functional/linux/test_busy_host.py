# SPDX-License-Identifier: Apache-2.0
"""A host under full load, or one that stands still for half of its lease, keeps its pool with the default lease."""

import os
import subprocess
import sys
import time

import psutil

from manila_lite.tests import waiting
from manila_lite.tests.functional.linux import failover_base as base

#: Seconds of full load. An hour, for one who changes the lease: MANILA_LITE_BUSY_SECONDS=3600.
_SECONDS = float(os.environ.get('MANILA_LITE_BUSY_SECONDS', '30'))
#: Seconds for which a host stands still: less than half of the lease, since it was renewed a quarter of it before.
_STILL = 2.5
_SPINS = 'while True: pass'
#: It writes to the disk of the host, and has each write synced, so that commits of the database wait, too.
_SYNCS = """
import os, sys
with open(sys.argv[1], 'wb') as file:
    while True:
        file.seek(0)
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
"""


class BusyHost(base.FailoverTest):
    """Two hosts, of which the one that serves has no time."""

    def begin(self):
        path = super().begin()
        self.start(self.two)
        self.said('works there; waiting')
        return path, self.writer(path)

    def load(self):
        """Start four times as many loops as the machine has processors, and two programs that sync, on the host that serves."""
        loops = [('-c', _SPINS)] * (4 * os.cpu_count())
        syncs = [('-c', _SYNCS, str(self.one.own / f'noise-{number}')) for number in range(2)]
        for words in (*loops, *syncs):
            noise = subprocess.Popen(self.one.inside(sys.executable, *words))
            self.addCleanup(noise.wait, waiting.LIMIT)
            self.addCleanup(noise.kill)

    def kept(self, writer, guards):
        """Check that the pool stayed where it was, with its guard and its server, and that the client noticed nothing."""
        writer.goes_on()
        self.assertEqual((guards, [], []), (self.one.guards(), self.two.remains(), writer.reclaims))
        self.assertNotIn('this process takes over', self.parts.log.read_text())

    def test_host_under_full_load_keeps_its_pool(self):
        _, writer = self.begin()
        guards = self.one.guards()
        self.load()
        end, least = time.monotonic() + _SECONDS, float('inf')
        while time.monotonic() < end:
            writer.goes_on(5)
            self.kept(writer, guards)
            least = min(least, self.lease_end() - time.monotonic())
        print(
            f'\nFull load for {_SECONDS:.0f} s: at least {least:.1f} s of the lease were left, and a client waited '
            f'{writer.longest:.1f} s at most',
            file=sys.stderr,
        )

    def test_host_that_stands_still_for_less_than_half_of_the_lease_keeps_its_pool(self):
        _, writer = self.begin()
        guards = self.one.guards()
        for _ in range(3):
            stopped = self.one.processes()
            self.stop(self.one, stopped)
            self.assertTrue(all(one.status() == psutil.STATUS_STOPPED for one in stopped))
            since = time.monotonic()
            self.until(lambda: time.monotonic() - since > _STILL, 'the host stood still')  # noqa: B023 - called here
            self.one.signal(stopped, base.CONTINUE)
            self.kept(writer, guards)
