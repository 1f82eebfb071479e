# SPDX-License-Identifier: Apache-2.0
"""Signals between threads that come exactly between a look and the sleep that follows it.

``contract/test_waits.py`` has the table of all such waits. For the engine's see ``simulation/test_gaps.py``.
"""

import threading
import time
import types

import fixtures
import testtools

from manila_lite.api.events import hub, listener
from manila_lite.api.events.batches import Batch
from manila_lite.cmd import master
from manila_lite.manager.runtime import service
from manila_lite.rpc import clients
from manila_lite.tests import waiting
from manila_lite.thread_reserve import ThreadReserve, _Turn

#: Seconds for what has to come at once; a lost signal takes longer than that, or never comes.
_SOON = waiting.LIMIT


class _Gap:
    """Calls ``signal`` once, in a thread of its own, when a thread has looked and is about to sleep."""

    signal = None

    def fill(self):
        """Give the signal. A thread that needs the lock of a condition gets it when the sleep begins."""
        signal, self.signal = self.signal, None
        if signal is not None:
            thread = threading.Thread(target=signal, daemon=True)
            thread.start()
            return thread
        return None


class GapCondition(threading.Condition, _Gap):
    """A condition; ``woken`` says of each wait whether a notification ended it."""

    def __init__(self):
        super().__init__()
        self.woken = []

    def wait(self, timeout=None):
        self.fill()
        self.woken.append(super().wait(_SOON))
        return self.woken[-1]


class GapEvent(threading.Event, _Gap):
    """An event whose signal has been given when the sleep begins."""

    def __init__(self):
        super().__init__()
        self.woken = []

    def wait(self, timeout=None):
        if given := self.fill():
            given.join()
        self.woken.append(super().wait(_SOON))
        return self.woken[-1]


class SignalsTest(testtools.TestCase):
    """One test for each wait."""

    def test_wake_up(self):
        bus = clients.Bus(types.SimpleNamespace(oslo_messaging_notifications=None))
        bus._changed = GapCondition()
        bus._changed.signal = lambda: bus.wake('share', 'a@b', 'one')
        bus._thread = threading.current_thread()  # which calls ``_next`` as the bus's own thread does
        self.assertEqual([('manila-share', 'a@b')], list(bus._next()))
        self.assertEqual([True], bus._changed.woken)

    def test_wake_up_during_the_pause_of_another_receiver(self):
        bus = clients.Bus(types.SimpleNamespace(oslo_messaging_notifications=None))
        bus._thread = threading.current_thread()
        bus.wake('share', 'busy@b', 'one')
        bus._not_before['manila-share', 'busy@b'] = time.monotonic() + 2 * _SOON
        bus._changed = GapCondition()
        bus._changed.signal = lambda: bus.wake('share', 'a@b', 'two')
        self.assertEqual([('manila-share', 'a@b')], list(bus._next()))

    def hub(self):
        own = types.SimpleNamespace(max_listeners=9, max_listeners_per_project=9, listener_buffer=9)
        conf = types.SimpleNamespace(events=own, api=types.SimpleNamespace(max_connections=99))
        made = hub.Hub(types.SimpleNamespace(conf=conf, db=None))
        made._changed = GapCondition()
        made._runs = True  # its thread is the one of this test
        made._looked = time.monotonic() + 2 * _SOON  # the next look is far away
        return made

    def admit(self, made):
        return made.admit(
            types.SimpleNamespace(project_id='p'),
            None,
            given=False,
            stream=True,
            once=False,
            seconds=waiting.LIMIT,
        )

    def test_new_listener(self):
        made = self.hub()
        self.admit(made)
        new = self.admit(made)
        made._changed.signal = lambda: made.listen(new)
        self.assertEqual(([new], [True]), (made._await(), made._changed.woken))

    def test_last_listener_leaves(self):
        made = self.hub()
        last = self.admit(made)
        made._changed.signal = last.close
        self.assertEqual((None, [True]), (made._await(), made._changed.woken))

    def test_event(self):
        one = listener.Listener(
            None,
            None,
            given=False,
            stream=False,
            once=True,
            until=time.monotonic() + 2 * _SOON,
            buffer=99,
            leave=lambda listener: None,
        )
        one._news, take = GapEvent(), one.take
        one.welcome(Batch([], '', 'now'), 'now')  # the first round finds nothing

        def take_and_miss():
            found, one.take = take(), take
            one.put(Batch([('x', b'{}')], 'now', 'then'), 'then')
            return found

        one.take = take_and_miss
        self.assertIn(b'"then"', one.wait())
        self.assertEqual([True, True], one._news.woken)

    def test_turn(self):
        reserve = ThreadReserve(threads=2)
        reserve._changed = GapCondition()
        first = reserve._enter(_Turn({}), 'backends')
        reserve._changed.signal = lambda: reserve._leave(first)
        with reserve._changed:
            reserve._stay(_Turn({}), 'backends')
        self.assertEqual([True], reserve._changed.woken)

    def test_report(self):
        manager, reports = service.ShareManager.__new__(service.ShareManager), []
        manager.name, manager._report_wanted, manager._stopping = 'alpha', GapEvent(), GapEvent()

        def report():
            reports.append(len(reports))
            if len(reports) == 1:  # another one is wanted after this one has read what it reports
                manager.report_soon()
            if len(reports) == 2:
                manager._report_wanted.signal = manager._stopping.set
                manager.report_soon()

        manager._report = report
        manager._report_wanted.signal = manager.report_soon
        manager._stopping.wait = lambda seconds: manager._stopping.is_set()
        manager._report_when_wanted()
        self.assertEqual([0, 1], reports)
        self.assertEqual([True] * 3, manager._report_wanted.woken)

    def test_stop_while_a_report_is_about_to_begin(self):
        """The stop's wake-up is cleared with that of the report: its thread would wait for ever, and the stop for it."""
        manager, reports = service.ShareManager.__new__(service.ShareManager), []
        manager.name, manager._stopping, manager._report = (
            'alpha',
            threading.Event(),
            lambda: reports.append(1),
        )

        class Wanted(GapEvent):
            def clear(self):
                manager._stopping.set()
                self.set()
                super().clear()

        manager._report_wanted = Wanted()
        manager._report_wanted.set()
        self.useFixture(fixtures.MonkeyPatch('manila_lite.manager.runtime.service._SETTLE', 0.0))
        manager._report_when_wanted()
        self.assertEqual(([], [True]), (reports, manager._report_wanted.woken))

    def test_restart(self):
        """A SIGHUP, or the end, while a child that ends at once is about to be started again."""
        forks = master.Master.__new__(master.Master)
        forks._hurry, forks._changing, forks._dead = GapEvent(), threading.Lock(), threading.Event()
        forks._services, forks._forks = {}, [time.monotonic()] * 3
        forks._services['one'] = types.SimpleNamespace(workers=1)

        def look():
            if not forks._hurry.is_set():
                forks._hurry.set()
                return False
            return True

        forks._dead.is_set = look  # the end comes right after the look
        forks._start_worker('one', 0)
        self.assertEqual([True], forks._hurry.woken)
