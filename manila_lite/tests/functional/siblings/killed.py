# SPDX-License-Identifier: Apache-2.0
"""Base of tests that kill processes of a sibling at places of their plans: ``run`` is the program of these processes."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import ctypes
import os
import signal
import sys
import time

from manila_lite.tests import forks
from manila_lite.tests.crash import victim
from manila_lite.tests.crash.orders import VARIABLE, Orders
from manila_lite.tests import waiting

_PR_SET_PDEATHSIG = 1


def run(service, commands):
    """Run the command of the role that is the first argument, stopping where a test says."""
    _, role, *options = sys.argv
    # The process must not outlive the test.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        return 1
    orders = Orders.given()
    victim._wrap_executor(orders, role)
    if role == 'api':
        victim._wrap_wake(orders, role)
        victim._wrap_begin(orders, role)
    sys.argv = [f'mlite-{service}-{role}', *options]
    return commands[role]()


class Victims:
    """Mixin for tests: processes of a sibling that can be stopped at places of their plans."""

    def prepare(self, main, folder, file):
        """Prepare the orders. ``main``: the program of the processes; ``folder``: logs; ``file``: their configuration."""
        self._main, self._folder, self._file = main, folder, file
        self.orders = Orders(folder / 'orders')
        self.orders.prepare()
        self._running = []
        self.addCleanup(self._end)

    def spawn(self, role):
        """Start the command of the role, which starts its child again when the child dies."""
        with (self._folder / f'{role}.log').open('ab') as log:
            self._running.append(
                forks.start(
                    self._main,
                    role,
                    f'--config-file={self._file}',
                    stdout=log,
                    stderr=log,
                    new_session=True,
                    env=os.environ | {VARIABLE: str(self.orders.root)},
                )
            )

    def _end(self):
        for one in self._running:
            try:
                os.killpg(one.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            one.wait()

    def until(self, what, ready):
        """Wait until ``ready`` returns nothing any more."""
        end = time.monotonic() + waiting.LIMIT
        while left := ready():
            if time.monotonic() > end:
                logs = ''.join(log.read_text(errors='replace')[-5000:] for log in self._folder.glob('*.log'))
                raise AssertionError(f'{what}: {left}\n{logs}')
            time.sleep(0.1)  # sleeps: between two looks, up to the end above

    def kill(self, projects):
        """Wait until one process is at the places of all these projects, and kill it."""
        self.until(
            'not at their places',
            lambda: [project for project in projects if not self.orders.holder(project)],
        )
        [holder] = {self.orders.holder(project) for project in projects}
        os.kill(holder, signal.SIGKILL)
