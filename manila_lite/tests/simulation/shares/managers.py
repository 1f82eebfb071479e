# SPDX-License-Identifier: Apache-2.0
"""The product's share manager, with its worker and its backend lease, in a simulated process."""

import types

from manila_lite.drivers.section import Changes
from manila_lite.engine import worker
from manila_lite.manager.plans import ensure, shares
from manila_lite.manager.runtime.service import ShareManager
from manila_lite.tests.simulation import environment, strangers

_ZONE = 'nova'
_PLANS = (*shares.PLANS, *ensure.PLANS)


class Listener:
    """The end of the bus in a process: wake-ups come to it between ``start`` and ``stop``."""

    def __init__(self, process, runner):
        self._process, self._runner = process, runner

    def start(self):
        self._process.connect_to_bus(self._runner)

    def stop(self):
        self._process.connect_to_bus(None)


class Timers:
    """Timers of a worker, all in one thread. They also run when somebody ``calls``."""

    def __init__(self, process, pause, timers):
        self._process = process
        self._pause = pause
        self._timers = timers
        self._called = self._stopped = False
        self._thread = environment.SimulatedEnvironment(process).thread(self._run, 'timers')

    def _run(self):
        while not self._stopped:
            for do in self._timers:
                try:
                    do()
                except Exception as error:
                    self._process.baton.note(f'a timer failed: {type(error).__name__}')
                    strangers.look(self._process.baton, error)
            self._process.baton.wait(lambda: self._called or self._stopped, self._pause)
            self._called = False

    def call(self):
        self._called = True

    def stop(self):
        self._stopped = True

    def wait(self):
        self._thread.join()


class Worker(worker.Worker):
    """The product's worker; only the bus and the timers are simulated ones."""

    def __init__(self, process, runner, services, pause):  # the base class would make those of the product
        self.services, self.runner = services, runner
        self.binary, self.identity, self.zone = 'manila-share', process.host, _ZONE
        self._process, self._pause = process, pause
        self._bus = self._server()
        self._timers, self._periodic = [self.beat], None
        self._lock = environment.SimulatedEnvironment(process).lock()
        self._listening = self._working = self._stopped = False
        self._clock_ahead = 0.0

    def _server(self):
        return Listener(self._process, self.runner)

    def every(self, seconds, do):
        self._timers.append(self._until_stopped(do))

    def start(self, *, listen=True):
        self.beat()
        if listen:
            self.listen()
        self._periodic = Timers(self._process, self._pause, self._timers)

    def call(self):
        """Run the timers at once."""
        if self._periodic is not None:
            self._periodic.call()


class Unchanged:
    """The section of a backend in files that nobody changes."""

    def reread(self, *, apply=True):
        return Changes()


class Manager(ShareManager):
    """The product's share manager, with all that it does when it gets, keeps or loses the lease of its backend."""

    def __init__(self, process, services, driver, pause):  # the base class would read a configuration
        self.services = services
        self.name, self.host = process.host.partition('@')[2], process.host
        self.driver = self.backups = driver
        self.moves = None
        self.section = types.SimpleNamespace(
            share_backend_name=None, ensure_interval=0.0, update_shares_status_on_ensure=None
        )
        self.section_in_files = Unchanged()
        self.failed_run = self.ensured_as = None
        own_worker = Worker(process, process.make_runner(_PLANS, self), services, pause)
        self._take_up(own_worker, environment.SimulatedEnvironment(process))
        self.worker.every(pause, self._report)
        self._leases = process.model.leases

    def _report(self):
        self._leases.begins_report()
        super()._report()
