# SPDX-License-Identifier: Apache-2.0

import os
import resource
import threading
import time

import oslo_messaging

from manila_lite.rpc import inproc, server, transport
from manila_lite.tests import waiting
from manila_lite.tests.unit.rpc import base


class Recorder:
    """An endpoint that keeps its messages."""

    def __init__(self):
        self.got = []
        self.arrived = threading.Semaphore(0)
        self.go_on = threading.Event()

    def note(self, ctxt, value):
        self.got.append(value)
        self.arrived.release()

    def spoil(self, ctxt, value):
        value.append('spoilt')
        self.note(ctxt, value)

    def slow(self, ctxt):
        self.arrived.release()
        self.go_on.wait(waiting.LIMIT)
        self.got.append('done')


class InprocTestCase(base.BusTestCase):
    def serve(self, topic, host, threads=4):
        endpoint = Recorder()
        running = oslo_messaging.get_rpc_server(
            transport.get_transport(self.conf),
            oslo_messaging.Target(topic=topic, server=host),
            [endpoint],
            server_cls=server.RpcServer,
        )
        running.start(override_pool_size=threads)
        endpoint.server = running
        self.addCleanup(self.end, running)
        return endpoint

    @staticmethod
    def end(running):
        running.stop()
        running.wait()

    def client(self, topic, host=None, **kwargs):
        return oslo_messaging.get_rpc_client(
            transport.get_transport(self.conf), oslo_messaging.Target(topic=topic, server=host, **kwargs)
        )

    def wait_for(self, endpoint, count):
        for _ in range(count):
            self.assertTrue(endpoint.arrived.acquire(timeout=waiting.LIMIT))


class TestDelivery(InprocTestCase):
    def test_message_reaches_the_named_server(self):
        ends = [self.serve('t', 'a'), self.serve('t', 'b')]
        for host in ('b', 'a', 'b', 'b'):
            self.client('t', host).cast({}, 'note', value=host)
        self.wait_for(ends[0], 1)
        self.wait_for(ends[1], 3)
        self.assertEqual([['a'], ['b'] * 3], [end.got for end in ends])

    def test_servers_of_a_topic_take_turns(self):
        ends = [self.serve('t', 'a'), self.serve('t', 'b')]
        for _ in range(6):
            self.client('t').cast({}, 'note', value=1)
        for end in ends:
            self.wait_for(end, 3)

    def test_messages_stay_in_their_topic_and_exchange(self):
        end = self.serve('t', 'a')
        self.client('other', 'a').cast({}, 'note', value=1)
        self.client('t', 'a', exchange='other').cast({}, 'note', value=2)
        self.client('t', 'a').cast({}, 'note', value=3)
        self.wait_for(end, 1)
        self.assertEqual([3], end.got)

    def test_casts_of_one_sender_arrive_in_order(self):
        end = self.serve('t', 'a', threads=1)
        for number in range(200):
            self.client('t', 'a').cast({}, 'note', value=number)
        self.wait_for(end, 200)
        self.assertEqual(list(range(200)), end.got)

    def test_sender_and_receiver_share_no_object(self):
        end = self.serve('t', 'a')
        mine = ['clean']
        self.client('t', 'a').cast({}, 'spoil', value=mine)
        self.wait_for(end, 1)
        self.assertEqual(([['clean', 'spoilt']], ['clean']), (end.got, mine))

    def test_value_that_is_not_json_is_refused_at_the_sender(self):
        self.serve('t', 'a')
        self.assertRaises(ValueError, self.client('t', 'a').cast, {}, 'note', value=threading.Lock())

    def test_message_does_not_reach_a_bus_of_another_name(self):
        end, here = self.serve('t', 'a'), self.client('t', 'a')
        self.use_url('inproc:///elsewhere')
        self.client('t', 'a').cast({}, 'note', value='there')
        here.cast({}, 'note', value='here')
        self.wait_for(end, 1)
        self.assertEqual(['here'], end.got)

    def test_answers_and_fanout_are_refused(self):
        self.serve('t', 'a')
        self.assertRaises(NotImplementedError, self.client('t', 'a').call, {}, 'note', value=1)
        self.assertRaises(NotImplementedError, self.client('t', fanout=True).cast, {}, 'note', value=1)


class TestAbsence(InprocTestCase):
    def test_cast_before_the_first_server_start_is_dropped(self):
        self.client('t', 'a').cast({}, 'note', value='early')
        end = self.serve('t', 'a')
        self.client('t', 'a').cast({}, 'note', value='late')
        self.wait_for(end, 1)
        self.assertEqual(['late'], end.got)

    def test_casts_are_kept_until_a_stopped_server_returns(self):
        first = self.serve('t', 'a')
        self.end(first.server)
        for number in range(5):
            self.client('t', 'a').cast({}, 'note', value=number)
            self.client('t').cast({}, 'note', value=number)
        second = self.serve('t', 'a')
        self.wait_for(second, 10)
        self.assertEqual([], first.got)
        self.assertEqual(sorted([*range(5), *range(5)]), sorted(second.got))

    def test_full_queue_without_a_server_drops_the_oldest_messages(self):
        self.end(self.serve('t', 'a').server)
        for number in range(inproc.BACKLOG + 3):
            self.client('t', 'a').cast({}, 'note', value=number)
        end = self.serve('t', 'a', threads=1)
        self.wait_for(end, inproc.BACKLOG)
        self.assertEqual(3, end.got[0])
        self.assertEqual(inproc.BACKLOG, len(end.got))


class TestStopAndCost(InprocTestCase):
    def test_poll_never_blocks_after_stop(self):
        listener = inproc.Listener(inproc.Bus(), [('e', 't', 'a')])
        listener.stop()
        begin = time.monotonic()
        self.assertEqual([[], []], [listener.poll(), listener.poll(timeout=waiting.LIMIT)])
        self.assertLess(time.monotonic() - begin, waiting.LIMIT / 2)

    def test_poll_returns_empty_after_its_timeout(self):
        listener = inproc.Listener(inproc.Bus(), [('e', 't', 'a')])
        begin = time.monotonic()
        self.assertEqual([], listener.poll(timeout=0.05))
        self.assertGreater(time.monotonic() - begin, 0.04)

    def test_stop_waits_for_all_received_messages(self):
        end = self.serve('t', 'a', threads=1)
        for _ in range(3):
            self.client('t', 'a').cast({}, 'slow')
        self.wait_for(end, 1)
        # The other two are to be in the executor's queue or the inbox, whichever.
        time.sleep(0.1)  # sleeps: none of them tells
        stopper = threading.Thread(target=self.end, args=(end.server,))
        stopper.start()
        end.go_on.set()
        stopper.join(waiting.LIMIT)
        self.assertEqual(['done'] * 3, end.got)

    def test_idle_servers_use_no_cpu_time(self):
        for host in 'abcdefgh':
            self.serve('t', host)
        waiting.until(self.idles, 'they are idle, after their start')

    @staticmethod
    def idles():
        before = resource.getrusage(resource.RUSAGE_SELF)
        time.sleep(1)  # sleeps: they are to do nothing for so long
        after = resource.getrusage(resource.RUSAGE_SELF)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.02

    def test_a_child_process_starts_with_an_empty_bus(self):
        self.serve('t', 'a')
        child = os.fork()
        if child == 0:
            # Nobody listens there, so the message is dropped.
            self.client('t', 'a').cast({}, 'note', value=1)
            os._exit(7 if not inproc._bus(self.conf.transport_url.partition(':///')[2])._routes else 1)
        self.assertEqual(7, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
