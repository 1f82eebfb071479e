#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long clients that write each 50 ms over NFS 4.1 and CIFS get no answer, when a storage host dies, or is drained.

Two hosts in namespaces of this machine, one pool, one share server, the default options. Each try drains the host that serves,
then kills the one that took over, and adds another host. Needs root, btrfs-progs, NFS-Ganesha, Samba and smbclient.
"""

import statistics
import sys
import time
import unittest

import report

from manila_lite.drivers.linux.protocols import user_list
from manila_lite.tests.functional.linux import test_switch
from manila_lite.tests.nfs4_owner import Owner41

#: Longest times without an answer, in seconds.
_DEAD, _DRAINED = 10, 2
#: Seconds without an answer by which a client has noticed that a host is gone.
_NOTICED = {'dead': 1, 'drained': 0}
#: Seconds until the record of a new NFS client is on the disk: btrfs takes five.
_ON_DISK = 6
_EVERY = 0.05


class _Tries(test_switch.SwitchTest):
    """The tries; a test case, since hosts and services are those of tests."""

    def __init__(self, figures: report.Report):
        super().__init__('tries')
        self._figures = figures
        self.times: dict[str, list[float]] = {}

    def tries(self) -> None:
        users = self.machine.state / 'users'
        user_list.put(users, 'alice', user_list.entry('alice', 'alice'))
        self._more = f'linux_cifs_users = {users}'
        path = super(test_switch.SwitchTest, self).begin(more=self._more)
        self._served, self._waits = self.one, self.two
        self.start(self.two, more=self._more)
        self._ready()
        self._writers = {
            'NFS 4.1': self.writer(path, version=Owner41, pause=_EVERY),
            'CIFS': self.cifs_writer(self.cifs_share('alice')),
        }
        count = self._figures.pick(1, 3, 10)
        for number in range(count):
            report.say(f'try {number + 1} of {count}')
            self._try(number)
        for writer in self._writers.values():
            writer.end()

    def _try(self, number: int) -> None:
        began = time.monotonic()
        self.until(lambda: time.monotonic() - began > _ON_DISK, 'records of clients are on the disk')
        drained, self._served, self._waits = self._served, self._waits, self._served
        self._time('drained', lambda: self.drain(drained.name))
        self.manage('host', 'drain', drained.name, '--undo')
        self._ready()
        dead, self._served = self._served, self._waits
        self._time('dead', dead.power_off)
        self._waits = self.host(f'host-{number}')
        self.start(self._waits, more=self._more)
        self._ready()

    def _ready(self) -> None:
        wanted = {self._served.name: ('serves', 'enabled'), self._waits.name: ('waits', 'enabled')}

        def ready() -> bool:
            machines = self.machines()
            return all(machines.get(name) == row for name, row in wanted.items())

        self.until(ready, f'{self._served.name} serves, and {self._waits.name} waits')

    def _time(self, what: str, event) -> None:
        since = time.monotonic()
        event()
        for name, writer in self._writers.items():

            def longest(writer=writer):
                return max((seconds for seconds, end in writer.gaps if end > since), default=0)

            # The host that is drained serves no more when the command ends; that one is dead, nobody says.
            self.until(lambda longest=longest: longest() >= _NOTICED[what], f'{name} noticed it')
            writer.goes_on()
            self.times.setdefault(f'{what}, {name}', []).append(longest())


def measure(figures: report.Report) -> None:
    """Run the tries."""
    tries, result = _Tries(figures), unittest.TestResult()
    tries.run(result)
    for _, trace in (*result.errors, *result.failures, *result.skipped):
        print(trace, file=sys.stderr)
    if not result.wasSuccessful() or result.skipped:
        sys.exit(1)
    for what, times in sorted(tries.times.items()):
        figures.note(f'{what}: {", ".join(f"{seconds:.1f}" for seconds in times)} s')
        most = figures.add(f'{what}, allowed', _DEAD if what.startswith('dead') else _DRAINED, 's')
        figures.add(f'{what}, median of {len(times)}', statistics.median(times), 's')
        figures.add(f'{what}, longest of {len(times)}', max(times), 's', most, most=1)


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
