# SPDX-License-Identifier: Apache-2.0
"""Threads that run one at a time: the thread with the baton runs, and at each point the seed chooses the next.

A point is a statement of the database, a reading of a clock, a lock, or a wait. Time is a number that grows a little at
each point. If no thread can go on, it jumps to the next time that a thread waits for.
"""

import sys
import threading
import traceback

#: Seconds that pass at a point.
TICK = 0.001
#: Seconds of the machine's clock in which some task comes to a point, if none waits for anything but the baton.
STUCK = 60.0


class Killed(BaseException):
    """The process of this thread is no more: nothing of what follows may happen."""


class Stopped(Exception):
    """The history cannot go on."""


class Stuck(Exception):
    """A thread with the baton waits for something real, for ever: the process can live through no other history."""


class Task:
    """One thread of one process."""

    def __init__(self, name, process):
        self.name = name
        self.thread = None  # the number of its thread
        self.process = process
        self.condition = None  # the task goes on when this holds,
        self.until = None  # or at this time
        self.ended = self.doomed = False
        self.go = threading.Lock()
        self.go.acquire()

    @property
    def dead(self):
        """Say whether the task may run no more."""
        return self.doomed or self.process.dead


class Baton:
    """The choice of the next task, and the time. Each point checks ``process.dead`` and ``process.frozen`` (until when)."""

    def __init__(self, rng, limit, sticky):
        self._rng = rng
        self._limit = limit
        self._sticky = sticky  # probability that the present task goes on
        self.now = 0.0
        self.steps = 0
        self.tasks = []
        self.main = self.current = None
        self.trace = []
        self.failure = None
        #: Called with the process at a point: it may die there, or freeze.
        self.on_point = lambda process: None

    def begin(self, process):
        """Make the calling thread the first task."""
        self.main = self.current = Task('main', process)
        self.tasks.append(self.main)

    def spawn(self, process, name, target):
        """Start the target in a thread of the process, which runs when it gets the baton. Return the task."""
        self._check(self.current)
        task = Task(name, process)
        self.tasks.append(task)
        threading.Thread(target=self._live, args=(task, target), name=name, daemon=True).start()
        return task

    def _live(self, task, target):
        task.thread = threading.get_ident()
        task.go.acquire()
        try:
            self._check(task)
            target()
        except Killed:
            pass
        except Exception as error:
            if not task.dead:
                self.fail(f'{task.name} ended of {error!r}')
        task.ended = True
        self.tasks.remove(task)
        following = self.current = self._next(None)
        following.go.release()

    def fail(self, why):
        """Let the history fail: it ends with the next point."""
        self.failure = self.failure or why

    def note(self, what):
        """Add a line to the trace, with time and task."""
        self.trace.append(f'{self.now:.3f} {self.current.name} {what}')

    def point(self, what):
        """Let other tasks run first, perhaps."""
        me = self.current
        self._check(me)
        self.steps += 1
        self.now += TICK
        self.note(what)
        if self.steps > self._limit:
            self.fail(f'no end after {self._limit} steps')
        self.on_point(me.process)
        self._switch(me)

    def maybe(self, what):
        """Make a point, one time in four: for frequent events."""
        if self._rng.random() < 0.25:
            self.point(what)

    def wait(self, condition, seconds=None):
        """Wait until the condition holds, or for so many seconds; say whether it holds."""
        me = self.current
        self._check(me)
        me.condition, me.until = condition, None if seconds is None else self.now + seconds
        try:
            self._switch(me)
        finally:
            me.condition = me.until = None
        return condition()

    def sleep(self, seconds):
        """Wait for so many seconds."""
        self.wait(bool, seconds)

    def _check(self, me):
        if me.dead or (self.failure and me is not self.main):
            raise Killed
        if self.failure:
            raise Stopped(self.failure)

    def _switch(self, me):
        following = self._next(me)
        if following is not me:
            self.current = following
            following.go.release()
            self._receive(me)
        self._check(me)

    def _receive(self, me):
        """Wait for the baton. The first task sees to it that the others pass it on.

        :raises Stuck: the one that has it does not, and does nothing else.
        """
        seen = None
        while not me.go.acquire(timeout=STUCK if me is self.main else -1):
            held, seen = seen, (self.current, self.now, self.steps)
            if seen == held:
                stack = traceback.format_stack(sys._current_frames().get(self.current.thread))
                raise Stuck(f'{self.current.name} waits for something real:\n{"".join(stack)}')

    def _next(self, me):
        """Return the next task: one that must end, else the present one, probably, else any that can go on."""
        if self.failure:
            return self.main
        for task in self.tasks:
            if task.dead:
                return task
        if me is not None and self._rng.random() < self._sticky and self._due(me) <= self.now:
            return me
        while not (ready := [task for task in self.tasks if self._due(task) <= self.now]):
            first = min(map(self._due, self.tasks))
            if first == float('inf'):
                self.fail('all wait for each other')
                return self.main
            self.now = first
        return self._rng.choice(ready)

    @staticmethod
    def _due(task):
        """Return when the task can go on, as far as is known."""
        if task.condition is None or task.condition():
            return task.process.frozen
        return float('inf') if task.until is None else max(task.until, task.process.frozen)

    def end(self):
        """End all threads but the first."""
        self.failure, self._limit = None, float('inf')
        for task in self.tasks:
            task.doomed = task is not self.main
        self.wait(lambda: len(self.tasks) == 1)
