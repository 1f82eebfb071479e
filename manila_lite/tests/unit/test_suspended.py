# SPDX-License-Identifier: Apache-2.0
"""A host that was suspended does not serve after its lease: others counted the time.

A time namespace shows such a host as it is after it woke up: its clock since the boot went on, the other did not.
"""

import ast
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

import fixtures
import testtools

import manila_lite
from manila_lite.drivers.linux.failover.task import Files
from manila_lite.host.clock import boottime

_ROOT = Path(manila_lite.__file__).parent
#: An hour, in seconds.
_SLEPT = 3600
#: What prints whether a lease holds that was for less than that when the host was suspended. Arguments: the end of the lease,
#: and the folder of a guard's files.
_LEASES = {
    'guard of a pool': 'from manila_lite.drivers.linux.failover.task import Files; print(Files(Path(sys.argv[2])).may_serve())',
    'share manager': (
        'from manila_lite.engine.environment import REAL; from manila_lite.manager.runtime import backend_lease; '
        'lease = object.__new__(backend_lease.BackendLease); lease._environment = REAL; '
        'lease._until = float(sys.argv[1]); print(lease.held())'
    ),
    'keeper of an NFS server of CephFS': (
        'import inspect; from manila_lite.drivers.cephfs.nfs.keeper import Keeper; '
        'print(inspect.signature(Keeper).parameters["clock"].default() < float(sys.argv[1]))'
    ),
}
#: Places of modules that decide whether this host may serve.
_DECIDING = ('drivers/linux/failover', 'drivers/cephfs/nfs', 'manager/runtime')
_HERE = 'it waits for something on this host, which slept, too'
#: The functions there that use the clock that stops, and why they may.
_WAITS = {
    'drivers/linux/failover/letting_go.py: let_go': _HERE,
    'drivers/linux/failover/fence.py: _watch': 'it has to see for some seconds, awake, that another host does not beat',
    'drivers/linux/failover/fence.py: observe': 'as _watch: time asleep is none in which a beat could have been seen',
    'drivers/cephfs/nfs/gateway.py: _claim': 'the other host has so many seconds to let go while this one looks',
    'drivers/cephfs/nfs/gateway.py: _await_former': 'as _claim',
    'manager/runtime/service.py: _take_up': 'the clock of periodic work, such as checks of all shares; the lease has its own',
}


class SuspendedTest(testtools.TestCase):
    def test_no_lease_holds_on_a_host_that_slept_through_it(self):
        if os.geteuid():
            raise unittest.SkipTest('a time namespace needs root')
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        until = boottime() + _SLEPT / 2
        Files(folder).allow_until(until)
        for name, code in _LEASES.items():
            words = [
                sys.executable,
                '-c',
                f'import sys; from pathlib import Path; {code}',
                str(until),
                str(folder),
            ]
            awake, slept = (
                subprocess.run(
                    [*start, *words],
                    check=True,
                    capture_output=True,
                    text=True,
                    env={**os.environ, 'PYTHONPATH': str(_ROOT.parent)},
                ).stdout.strip()
                for start in ([], ['unshare', '--time', '--boottime', str(_SLEPT), '--fork'])
            )
            self.assertEqual(('True', 'False'), (awake, slept), name)

    def test_clock_is_the_one_that_goes_on(self):
        self.assertLessEqual(abs(boottime() - time.clock_gettime(time.CLOCK_BOOTTIME)), 60)

    def test_clock_that_stops_is_only_for_waits(self):
        found = {
            f'{file.relative_to(_ROOT)}: {name}'
            for place in _DECIDING
            for file in (_ROOT / place).glob('*.py')
            for name in _users_of_monotonic(ast.parse(file.read_text()))
        }
        self.assertEqual(
            set(),
            {one for one in found if one not in _WAITS},
            'use host.clock.boottime, or add it with a reason',
        )
        self.assertEqual(set(), _WAITS.keys() - found)


def _users_of_monotonic(tree):
    """Yield the names of functions, or of nothing, that use ``monotonic`` of the module ``time``."""
    owners = {
        node: function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and 'monotonic' in node.attr.lower():
            yield owners.get(node, '')
