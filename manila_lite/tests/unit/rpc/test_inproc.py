# SPDX-License-Identifier: Apache-2.0

import datetime
import os
import resource
import threading
import time

import fixtures
import oslo_messaging

from manila_lite import errors
from manila_lite.rpc import inproc, server, transport
from manila_lite.tests import waiting
from manila_lite.tests.unit.rpc import base


class Recorder:
    """An endpoint that keeps its messages, and answers in several ways."""

    def __init__(self, name='one'):
        self.name = name
        self.got = []
        self.arrived = threading.Semaphore(0)
        self.go_on = threading.Event()

    def note(self, ctxt, value):
        self.got.append(value)
        self.arrived.release()

    def echo(self, ctxt, value):
        return {'from': self.name, 'value': value}

    def spoil(self, ctxt, value):
        value.append('spoilt')
        return value

    def fail(self, ctxt, kind):
        raise {
            'ours': errors.NotFound.of('share', 'x'),
            'builtin': ValueError('bad'),
            'foreign': OddError('odd'),
        }[kind]

    def slow(self, ctxt):
        self.arrived.release()
        self.go_on.wait(waiting.LIMIT)
        return 'done'


class OddError(Exception):
    """An exception of a module that is not allowed to cross the bus."""


class InprocTestCase(base.BusTestCase):
    def serve(self, topic, host, endpoint=None, threads=4):
        endpoint = endpoint or Recorder(host)
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

    def client(self, topic, host=None, timeout=waiting.LIMIT, **kwargs):
        return oslo_messaging.get_rpc_client(
            transport.get_transport(self.conf),
            oslo_messaging.Target(topic=topic, server=host, **kwargs),
            timeout=timeout,
        )

    def wait_for(self, endpoint, count):
        for _ in range(count):
            self.assertTrue(endpoint.arrived.acquire(timeout=waiting.LIMIT))


class TestDelivery(InprocTestCase):
    def test_call_is_answered_by_the_named_server(self):
        self.serve('t', 'a')
        self.serve('t', 'b')
        for host in ('b', 'a', 'b', 'b'):
            self.assertEqual({'from': host, 'value': 1}, self.client('t', host).call({}, 'echo', value=1))

    def test_servers_of_a_topic_take_turns(self):
        self.serve('t', 'a')
        self.serve('t', 'b')
        answers = [self.client('t').call({}, 'echo', value=1)['from'] for _ in range(6)]
        self.assertEqual(3, answers.count('a'))
        self.assertEqual(3, answers.count('b'))

    def test_messages_stay_in_their_topic_and_exchange(self):
        self.serve('t', 'a')
        self.assertRaises(
            oslo_messaging.MessagingTimeout, self.client('other', 'a').call, {}, 'echo', value=1
        )
        self.assertRaises(
            oslo_messaging.MessagingTimeout, self.client('t', 'a', exchange='other').call, {}, 'echo', value=1
        )

    def test_fanout_reaches_each_server_once(self):
        ends = [self.serve('t', host) for host in 'abc']
        self.serve('other', 'a')
        self.client('t', fanout=True).cast({}, 'note', value='all')
        for end in ends:
            self.wait_for(end, 1)
        self.assertEqual([['all']] * 3, [end.got for end in ends])

    def test_casts_of_one_sender_arrive_in_order(self):
        end = self.serve('t', 'a', threads=1)
        for number in range(200):
            self.client('t', 'a').cast({}, 'note', value=number)
        self.wait_for(end, 200)
        self.assertEqual(list(range(200)), end.got)

    def test_sender_and_receiver_share_no_object(self):
        self.serve('t', 'a')
        mine = ['clean']
        self.assertEqual(['clean', 'spoilt'], self.client('t', 'a').call({}, 'spoil', value=mine))
        self.assertEqual(['clean'], mine)

    def test_value_that_is_not_json_is_refused_at_the_sender(self):
        self.serve('t', 'a')
        when = datetime.date(2026, 1, 2)
        self.assertEqual('2026-01-02', self.client('t', 'a').call({}, 'echo', value=when)['value'])
        self.assertRaises(ValueError, self.client('t', 'a').call, {}, 'echo', value=threading.Lock())

    def test_call_does_not_reach_a_bus_of_another_name(self):
        self.serve('t', 'a')
        self.use_url('inproc:///elsewhere')
        self.assertRaises(oslo_messaging.MessagingTimeout, self.client('t', 'a').call, {}, 'echo', value=1)


class TestAbsence(InprocTestCase):
    def test_call_without_a_server_fails_at_once(self):
        begin = time.monotonic()
        self.assertRaises(oslo_messaging.MessagingTimeout, self.client('t', 'a').call, {}, 'echo', value=1)
        self.assertLess(time.monotonic() - begin, waiting.LIMIT / 2)

    def test_cast_before_the_first_server_start_is_dropped(self):
        self.client('t', 'a').cast({}, 'note', value='early')
        end = self.serve('t', 'a')
        self.client('t', 'a').cast({}, 'note', value='late')
        self.wait_for(end, 1)
        self.assertEqual(['late'], end.got)

    def test_at_least_once_reports_a_message_without_a_queue(self):
        client = oslo_messaging.get_rpc_client(
            transport.get_transport(self.conf),
            oslo_messaging.Target(topic='t', server='a'),
            transport_options=oslo_messaging.TransportOptions(at_least_once=True),
        )
        self.assertRaises(oslo_messaging.MessageUndeliverable, client.cast, {}, 'note', value=1)

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

    def test_timed_out_call_is_not_run_later(self):
        self.end(self.serve('t', 'a').server)
        self.assertRaises(
            oslo_messaging.MessagingTimeout,
            self.client('t', 'a', timeout=0.05).call,
            {},
            'note',
            value='stale',
        )
        end = self.serve('t', 'a')
        self.client('t', 'a').call({}, 'note', value='fresh')
        self.assertEqual(['fresh'], end.got)

    def test_call_with_a_slow_answer_times_out(self):
        end = self.serve('t', 'a')
        self.assertRaises(
            oslo_messaging.MessagingTimeout, self.client('t', 'a', timeout=0.1).call, {}, 'slow'
        )
        end.go_on.set()


class TestErrors(InprocTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.serve('t', 'a')

    def test_own_errors_keep_their_class(self):
        error = self.assertRaises(errors.NotFound, self.client('t', 'a').call, {}, 'fail', kind='ours')
        self.assertIn('Share x could not be found.', str(error))

    def test_builtin_errors_keep_their_class(self):
        self.assertRaises(ValueError, self.client('t', 'a').call, {}, 'fail', kind='builtin')

    def test_other_errors_arrive_as_remote_errors(self):
        error = self.assertRaises(
            oslo_messaging.RemoteError, self.client('t', 'a').call, {}, 'fail', kind='foreign'
        )
        self.assertEqual(('OddError', 'odd'), (error.exc_type, error.value))

    def test_unknown_method_raises_remote_error(self):
        self.assertRaises(oslo_messaging.RemoteError, self.client('t', 'a').call, {}, 'no_such_thing')


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

    def test_stop_answers_all_received_calls(self):
        end = self.serve('t', 'a', threads=1)
        answers = []
        callers = [
            threading.Thread(target=lambda: answers.append(self.client('t', 'a').call({}, 'slow')))
            for _ in range(3)
        ]
        for caller in callers:
            caller.start()
        self.wait_for(end, 1)
        # The other two are to be in the executor's queue or the inbox, whichever.
        time.sleep(0.1)  # sleeps: none of them tells
        stopper = threading.Thread(target=self.end, args=(end.server,))
        stopper.start()
        end.go_on.set()
        for thread in [*callers, stopper]:
            thread.join(waiting.LIMIT)
        self.assertEqual(['done'] * 3, answers)

    def test_requeued_message_is_delivered_again(self):
        bus = inproc.Bus()
        listener = inproc.Listener(bus, [('e', 't', 'a')])
        bus.deliver(('e', 't', 'a'), inproc.Letter('{"ctxt": {}, "message": {"n": 1}}'), fanout=False)
        listener.poll()[0].requeue()
        self.assertEqual({'n': 1}, listener.poll()[0].message)

    def test_idle_servers_use_no_cpu_time(self):
        for host in 'abcdefgh':
            self.serve('t', host)
        time.sleep(0.1)  # sleeps: what starting costs is not counted
        before = resource.getrusage(resource.RUSAGE_SELF)
        time.sleep(1)  # sleeps: they are to do nothing for so long
        after = resource.getrusage(resource.RUSAGE_SELF)
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 0.02)

    def test_a_child_process_starts_with_an_empty_bus(self):
        self.serve('t', 'a')
        child = os.fork()
        if child == 0:
            try:
                self.client('t', 'a').call({}, 'echo', value=1)
            except oslo_messaging.MessagingTimeout:
                os._exit(7)
            finally:
                os._exit(1)
        self.assertEqual(7, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
