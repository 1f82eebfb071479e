# SPDX-License-Identifier: Apache-2.0

import http.client
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import fixtures
import testtools
from oslo_config import cfg

from manila_lite.cmd import runner
from manila_lite.tests import waiting

PREAMBLE = """
import manila_lite.cmd
import sys, threading, time
from manila_lite import errors
from manila_lite.cmd import runner

def say(*words):
    print(*words, flush=True)

class Plain:
    def __init__(self, name):
        self.name = name
    def start(self):
        say('start', self.name)
    def stop(self):
        say('stop', self.name)
"""

ALL_IN_ONE = """
from oslo_config import cfg
import manila_lite.conf
from manila_lite.api.server import server as http_server
from manila_lite.rpc import TOPICS, clients, endpoint, server, transport

conf = manila_lite.conf.register(cfg.CONF)
conf([], project='manila_lite', default_config_files=[])
transport.set_defaults(conf, 'inproc://')
woken, stopping = threading.Event(), threading.Event()

class Share:
    def start(self):
        self.rpc = server.Server(conf, TOPICS['share'], 'h', [endpoint.Operations(self.work)])
        self.rpc.start()
        self.bus = clients.Bus(conf)
    def work(self, lanes):
        stopping.wait()
        time.sleep(1)
        woken.set()
    def stop(self):
        self.bus.close()
        self.rpc.stop(LIMIT)

share = Share()

def app(environ, start_response):
    say('request')
    share.bus.wake('share', 'h', 'work')
    assert woken.wait(LIMIT)
    start_response('200 OK', [])
    return [b'woken']

class Api:
    def start(self):
        self.http = http_server.ApiServer(app, '127.0.0.1', 0, 2)
        self.http.start()
        say('port', self.http.port)
    def stop(self):
        say('stopping')
        stopping.set()
        self.http.stop(LIMIT)

status = runner.run([share, Api()], drain=LIMIT)
for name in ('eventlet', 'greenlet'):
    assert sys.modules[name] is None, name
    assert not [m for m in sys.modules if m.startswith(name + '.')]
sys.exit(status)
"""


class RunnerTestCase(testtools.TestCase):
    def launch(self, script):
        child = subprocess.Popen(
            [sys.executable, '-c', PREAMBLE + textwrap.dedent(script)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))},
        )
        self.addCleanup(self.end, child)
        return child

    @staticmethod
    def end(child):
        child.kill()
        child.communicate()

    def expect(self, child, *words):
        """Check that the next lines of the child begin with ``words``; return the last line."""
        for word in words:
            line = child.stdout.readline().strip()
            if not line.startswith(word):
                child.kill()
                self.fail(f'expected {word}, got {line!r}\n{child.stderr.read()}')
        return line

    @staticmethod
    def let_go_on(child):
        """Let the child read a line."""
        child.stdin.write('\n')
        child.stdin.flush()

    def finish(self, child):
        """Return the exit status, and the rest of stdout and stderr."""
        out, err = child.communicate(timeout=waiting.LIMIT)
        return child.returncode, out.split('\n')[:-1], err


class TestConfigFiles(testtools.TestCase):
    def test_concurrent_reader_does_not_keep_the_old_value(self):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).join('a.conf'))
        path.write_text('[DEFAULT]\nsize = 0\n')
        conf = cfg.ConfigOpts()
        conf.register_opt(cfg.IntOpt('size', mutable=True))
        conf([], default_config_files=[str(path)])
        done = threading.Event()

        def read():
            while not done.is_set():
                conf.size  # noqa: B018

        reader = threading.Thread(target=read)
        reader.start()
        self.addCleanup(reader.join)
        self.addCleanup(done.set)
        files = runner.ConfigFiles(conf)
        for size in range(1, 100):
            path.write_text(f'[DEFAULT]\nsize = {size}\n')
            files.reload()
            self.assertEqual(size, conf.size)


class TestOrder(RunnerTestCase):
    TWO = """sys.exit(runner.run([Plain('one'), Plain('two')]))"""

    def test_sigterm_and_sigint_stop_in_reverse_and_exit_0(self):
        for signo in (signal.SIGTERM, signal.SIGINT):
            child = self.launch(self.TWO)
            self.expect(child, 'start one', 'start two')
            child.send_signal(signo)
            self.assertEqual((0, ['stop two', 'stop one'], ''), self.finish(child))

    def test_sighup_reloads_services_and_a_failed_reload_is_survived(self):
        child = self.launch("""
            class Reloads(Plain):
                def reload(self):
                    say('reload', self.name)
                    if self.name == 'bad':
                        raise ValueError('bad file')
            sys.exit(runner.run([Plain('one'), Reloads('bad'), Reloads('three')]))""")
        self.expect(child, 'start one', 'start bad', 'start three')
        for _ in range(2):
            child.send_signal(signal.SIGHUP)
            self.expect(child, 'reload bad', 'reload three')
        child.terminate()
        status, out, err = self.finish(child)
        self.assertEqual((0, ['stop three', 'stop bad', 'stop one']), (status, out))
        self.assertIn('bad file', err)

    def test_a_signal_during_start_is_not_lost(self):
        child = self.launch("""
            class Slow(Plain):
                def start(self):
                    super().start()
                    sys.stdin.readline()
            sys.exit(runner.run([Slow('one'), Plain('two')]))""")
        self.expect(child, 'start one')
        child.send_signal(signal.SIGHUP)  # a SIGHUP alone would not end the process
        child.terminate()
        self.let_go_on(child)
        self.assertEqual((0, ['stop one'], ''), self.finish(child))

    def test_sighup_during_start_does_not_end_the_process(self):
        child = self.launch("""
            class Slow(Plain):
                def start(self):
                    super().start()
                    sys.stdin.readline()
            sys.exit(runner.run([Slow('one'), Plain('two')]))""")
        self.expect(child, 'start one')
        child.send_signal(signal.SIGHUP)
        self.let_go_on(child)
        self.expect(child, 'start two')
        child.terminate()
        self.assertEqual((0, ['stop two', 'stop one'], ''), self.finish(child))


class TestFailures(RunnerTestCase):
    def test_bad_configuration_is_one_line_and_stops_started_services(self):
        child = self.launch("""
            class Bad(Plain):
                def start(self):
                    raise errors.BadConfig('option driver of [alpha]: no driver named x')
            sys.exit(runner.run([Plain('one'), Bad('two'), Plain('three')]))""")
        self.assertEqual(
            (1, ['start one', 'stop one'], 'Cannot start: option driver of [alpha]: no driver named x\n'),
            self.finish(child),
        )

    def test_unexpected_error_at_start_prints_its_traceback(self):
        child = self.launch("""
            class Bad(Plain):
                def start(self):
                    raise ZeroDivisionError('oops')
            sys.exit(runner.run([Plain('one'), Bad('two')]))""")
        status, out, err = self.finish(child)
        self.assertEqual((1, ['start one', 'stop one']), (status, out))
        self.assertIn('ZeroDivisionError: oops', err)

    def test_unexpected_errors_are_on_stderr_as_well_when_the_log_is_a_file(self):
        log = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'a.log'
        for method, what, out in (
            ('start', 'cannot start', ['start one', 'stop one']),
            ('stop', 'two failed to stop', ['start one', 'start two', 'stop one']),
        ):
            child = self.launch(f"""
                import logging
                logging.basicConfig(filename={str(log)!r})
                class Bad(Plain):
                    def {method}(self):
                        raise ZeroDivisionError('oops')
                sys.exit(runner.run([Plain('one'), Bad('two')]))""")
            if method == 'stop':
                self.expect(child, *out[:2])
                child.terminate()
            told = f'manila_lite: {what}, with a traceback in {log}: ZeroDivisionError: oops\n'
            self.assertEqual((1, out[2 if method == 'stop' else 0 :], told), self.finish(child))
        self.assertEqual(2, log.read_text().count('Traceback'))

    def test_a_service_that_fails_to_stop_does_not_hold_up_the_others(self):
        child = self.launch("""
            class Bad(Plain):
                def stop(self):
                    raise ZeroDivisionError('oops')
            sys.exit(runner.run([Plain('one'), Bad('two')]))""")
        self.expect(child, 'start one', 'start two')
        child.terminate()
        status, out, err = self.finish(child)
        self.assertEqual((1, ['stop one']), (status, out))
        self.assertIn('ZeroDivisionError: oops', err)

    def test_hanging_stop_ends_after_the_drain_time(self):
        child = self.launch("""
            class Hangs(Plain):
                def stop(self):
                    say('stop', self.name)
                    threading.Event().wait()
            sys.exit(runner.run([Hangs('one')], drain=1))""")
        self.expect(child, 'start one')
        child.terminate()
        status, out, err = self.finish(child)
        self.assertEqual((1, ['stop one']), (status, out))
        self.assertIn('in stop', err)

    def test_leftover_thread_does_not_keep_the_process_alive(self):
        child = self.launch("""
            threading.Thread(target=threading.Event().wait).start()
            sys.exit(runner.run([Plain('one')], drain=1))""")
        self.expect(child, 'start one')
        child.terminate()
        self.assertEqual((1, ['stop one']), self.finish(child)[:2])

    def test_second_interrupt_ends_the_process_at_once(self):
        child = self.launch("""
            class Hangs(Plain):
                def stop(self):
                    say('stop', self.name)
                    threading.Event().wait()
            sys.exit(runner.run([Hangs('one')]))""")
        self.expect(child, 'start one')
        child.send_signal(signal.SIGINT)
        self.expect(child, 'stop one')
        child.send_signal(signal.SIGINT)
        self.assertEqual(-signal.SIGINT, self.finish(child)[0])


class TestAllInOne(RunnerTestCase):
    def start(self):
        child = self.launch(f'LIMIT = {waiting.LIMIT:.0f}\n' + ALL_IN_ONE)
        return child, int(self.expect(child, 'port').split()[1])

    @staticmethod
    def ask(port):
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=waiting.LIMIT)
        connection.request('GET', '/')
        answer = connection.getresponse()
        return answer.status, answer.read()

    def test_a_request_under_way_is_answered_and_no_green_threads_are_loaded(self):
        child, port = self.start()
        answers = []
        caller = threading.Thread(target=lambda: answers.append(self.ask(port)))
        caller.start()
        self.expect(child, 'request')
        child.terminate()  # the request is answered only after the stop has begun
        self.assertEqual((0, ['stopping'], ''), self.finish(child))
        caller.join(waiting.LIMIT)
        self.assertEqual([(200, b'woken')], answers)

    def test_idle_process_uses_no_cpu_and_stops_soon(self):
        child, _port = self.start()
        waiting.until(lambda: self.idles(child.pid), 'the process to be idle, after its start')
        child.terminate()
        begin = time.monotonic()
        self.assertEqual(0, self.finish(child)[0])
        self.assertLess(time.monotonic() - begin, waiting.LIMIT / 10)

    def idles(self, pid):
        before = self.ticks(pid)
        time.sleep(1.5)  # sleeps: it is to do nothing for so long
        return self.ticks(pid) - before <= 2

    @staticmethod
    def ticks(pid):
        """Return the hundredths of a second of CPU that a process has used."""
        with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
            fields = stat.read().rpartition(')')[2].split()
        return int(fields[11]) + int(fields[12])
