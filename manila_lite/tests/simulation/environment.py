# SPDX-License-Identifier: Apache-2.0
"""Locks, events, threads and clocks of simulated processes, which use the baton."""

import datetime

from manila_lite.engine.environment import Environment

EPOCH = datetime.datetime(2030, 1, 1)  # noqa: DTZ001 - as in the database


class Lock:
    """Like a lock of ``threading``. Without a baton there is one thread only."""

    def __init__(self, baton=None):
        self._baton = baton
        self.holder = None

    def use(self, baton):
        """Free the lock, and use it in this history from now on."""
        self._baton, self.holder = baton, None

    def acquire(self, blocking=True, timeout=-1):
        if self._baton is None:
            return True
        self._baton.maybe('lock')
        if self.holder is not None:
            forever = timeout < 0 or self._baton.current.process.immune
            self._baton.wait(lambda: self.holder is None, None if forever else timeout)
            if self.holder is not None:
                return False
        self.holder = self._baton.current
        return True

    def release(self):
        self.holder = None

    def is_held_here(self):
        """Say whether the running thread has the lock."""
        return self.holder is not None and self.holder is self._baton.current

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()


class Event:
    """Like an event of ``threading``."""

    def __init__(self, baton):
        self._baton = baton
        self._is_set = False

    def is_set(self):
        return self._is_set

    def set(self):
        self._is_set = True

    def clear(self):
        self._is_set = False

    def wait(self, timeout=None):
        return self._baton.wait(self.is_set, timeout)


class Condition:
    """Like a condition of ``threading``: a waiter looks again only after a notification."""

    def __init__(self, baton):
        self._baton = baton
        self._lock = Lock(baton)
        self._notifications = 0

    def __enter__(self):
        return self._lock.acquire()

    def __exit__(self, *error):
        self._lock.release()

    def wait_for(self, condition):
        while not (result := condition()):
            seen = self._notifications
            self._lock.release()
            self._baton.wait(lambda seen=seen: self._notifications != seen)
            self._lock.acquire()
        return result

    def notify_all(self):
        self._notifications += 1


class Thread:
    """A thread that can be joined."""

    def __init__(self, baton, task):
        self._baton = baton
        self._task = task

    def join(self, timeout=None):
        self._baton.wait(lambda: self._task.ended, timeout)


class WorkerPool:
    """Like an executor of ``concurrent.futures``; more work than threads is a mistake of the caller."""

    def __init__(self, process, count, name):
        self._process = process
        self._count = count
        self._name = name
        self._tasks = []

    def submit(self, call, ops, loaded):
        process, baton = self._process, self._process.baton
        self._tasks = [task for task in self._tasks if not task.ended]
        task = baton.spawn(
            process, f'{process.name}.{self._name}-{process.number()}', lambda: call(ops, loaded)
        )
        self._tasks.append(task)
        process.model.worker_started(task, ops[0], self._count)

    def shutdown(self, wait=True):
        self._process.baton.wait(lambda: all(task.ended for task in self._tasks))


class SimulatedEnvironment(Environment):
    """The machine of one process."""

    def __init__(self, process):
        self._process = process
        self._baton = process.baton

    def name(self):
        return self._process.name

    def process(self):
        return self._process.name

    def is_dead(self, owner):
        return self._process.sees_dead(owner)

    def monotonic(self):
        self._baton.maybe('clock')
        return self._baton.now

    def boottime(self):
        return self.monotonic()  # no machine sleeps; that a process is frozen shows the same

    def thread_time(self):
        return self._baton.steps  # every call seems slow, so that kept values may be as old as possible

    def lock(self):
        return Lock(self._baton)

    def event(self):
        return Event(self._baton)

    def condition(self):
        return Condition(self._baton)

    def executor(self, count, name):
        return WorkerPool(self._process, count, name)

    def thread(self, target, name):
        return Thread(self._baton, self._baton.spawn(self._process, f'{self._process.name}.{name}', target))


class Clock:
    """The clock of ``timeutils.utcnow``, one for each process, in the form of an endless list of times."""

    def __init__(self):
        self.baton = None
        self.epoch = EPOCH  # when the history begins; less, after all clocks went back

    def of_database(self):
        """Return the time of the database's clock, which has no offset."""
        return self.epoch + datetime.timedelta(seconds=0.0 if self.baton is None else self.baton.now)

    def sleep(self, seconds):
        """Sleep before a transaction is repeated."""
        if self.baton is not None:
            self.baton.sleep(seconds)

    def uniform(self, least, most):
        """Return the seconds of that sleep: the longest, for the seed says who is first after it."""
        return most

    def pop(self, index):
        now = 0.0
        if self.baton is not None:
            self.baton.maybe('clock')
            now = self.baton.now + self.baton.current.process.offset
        return self.epoch + datetime.timedelta(seconds=now)
