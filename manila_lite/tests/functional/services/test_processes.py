# SPDX-License-Identifier: Apache-2.0
"""API, scheduler and share managers as processes under oslo.service's launcher: signals, crashes, slow backends."""

import json
import signal

import psutil
import testtools

from manila_lite.tests import process, waiting

_FEW_SECONDS = 3


class Processes(testtools.TestCase):
    """One API, one scheduler, one backend."""

    def start(self, *names, extra='', backend='driver = dummy\n'):
        self.parts = self.useFixture(process.Parts(extra, backend))
        self.started = {name: self.parts.run(name) for name in names}
        if 'api' in names:
            self.parts.until(self.parts.answers, 'the API answers')
            self.parts.ok('POST', '/types', process.DEFAULT_TYPE)

    def child(self, name, besides=()):
        """Return the only child process of a part, once it runs and is none of ``besides``."""

        def found():
            alive = [child for child in process.children(self.started[name]) if child.pid not in besides]
            return alive[0] if len(alive) == 1 else None

        return self.parts.until(found, f'{name} has its child')

    def share_becomes_available(self):
        share_id = self.parts.share()
        self.parts.wait(f'/shares/{share_id}', 'share', 'available')
        return share_id

    def service(self, binary):
        return next(
            (row for row in self.parts.ok('GET', '/services')['services'] if row['binary'] == binary), None
        )

    def recorded(self, binary):
        """Return the service as ``manila-manage service list`` shows it."""
        rows = json.loads(self.parts.manage('service', 'list', '--format_output', 'json'))
        return next(row for row in rows if row['binary'] == binary)

    def is_up(self, binary):
        row = self.service(binary)
        return row is not None and row['state'] == 'up'

    def test_term_ends_each_idle_process_with_status_0(self):
        """End each idle process with status 0, and its child; show the service as down."""
        self.start('api', 'scheduler', 'share')
        self.parts.until(self.parts.pools, 'a pool')
        for name in ('share', 'scheduler'):
            child = self.child(name)
            self.started[name].terminate()
            self.assertEqual(0, self.started[name].wait(timeout=waiting.LIMIT), self.parts.tail())
            self.assertFalse(child.is_running())
            self.assertFalse(self.is_up(f'manila-{name}'))
            self.assertTrue(self.recorded(f'manila-{name}')['stopped'])
        self.started['api'].terminate()
        self.assertEqual(0, self.started['api'].wait(timeout=waiting.LIMIT), self.parts.tail())

    def test_term_lets_running_work_finish(self):
        self.start('api', 'scheduler', 'share')
        self.parts.until(self.parts.pools, 'a pool')
        self.parts.knobs('create_share:delay=2')
        share_id = self.parts.share()
        self.parts.until(lambda: self.parts.calls('create_share'), 'the backend is at work')
        self.started['share'].terminate()
        self.assertEqual(0, self.started['share'].wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertEqual('available', self.parts.ok('GET', f'/shares/{share_id}')['share']['status'])

    def test_term_ends_a_process_with_hanging_work_after_the_timeout(self):
        """End a process whose work takes longer than graceful_shutdown_timeout; let the next process do the work."""
        self.start('api', 'scheduler', 'share', extra=f'graceful_shutdown_timeout = {_FEW_SECONDS}\n')
        self.parts.until(self.parts.pools, 'a pool')
        self.parts.knobs('create_share:hang')
        share_id = self.parts.share()
        self.parts.until(lambda: self.parts.calls('create_share'), 'the backend hangs')
        child = self.child('share')
        self.started['share'].terminate()
        self.started['share'].wait(timeout=waiting.LIMIT)
        psutil.wait_procs([child], timeout=waiting.LIMIT)
        self.assertFalse(child.is_running())
        self.parts.knobs()
        self.started['share'] = self.parts.run('share')
        self.parts.wait(f'/shares/{share_id}', 'share', 'available')

    def test_term_kills_a_child_that_sees_no_signal(self):
        """Stop a child, which is then like one with a thread that holds the interpreter."""
        self.start('api', extra=f'graceful_shutdown_timeout = {_FEW_SECONDS}\n')
        child = self.child('api')
        child.suspend()
        self.started['api'].terminate()
        self.assertEqual(0, self.started['api'].wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertFalse(child.is_running())

    def hold(self, name):
        """Start a program that answers, and let a thread of one of its processes hold the interpreter."""
        self.parts = self.useFixture(
            process.Parts(extra='osapi_share_workers = 1\ngraceful_shutdown_timeout = 3600\n')
        )
        hold = self.parts.state / 'hold'
        self.started = {name: self.parts.run(f'manila_lite.tests.held:{name}', HOLD=str(hold))}
        self.parts.until(self.parts.answers, 'the API answers')
        held = None if name == 'lite' else self.child(name)
        hold.touch()
        self.parts.until(lambda: not hold.exists(), 'the interpreter is held')
        return held

    def test_47_1_api_answers_again_after_a_thread_held_the_interpreter(self):
        """Check that another process answers: the clients of this one would get no answer for years."""
        held = self.hold('api')
        self.assertNotEqual(held.pid, self.child('api', besides=(held.pid,)).pid)
        self.parts.until(self.parts.answers, 'the API answers again')
        self.assertIn('in _hold', self.parts.log.read_text())

    def test_47_1_term_ends_an_api_of_which_a_thread_holds_the_interpreter(self):
        """End it although graceful_shutdown_timeout is an hour: the process finishes nothing any more."""
        held = self.hold('api')
        self.started['api'].terminate()
        self.assertEqual(0, self.started['api'].wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertFalse(held.is_running())

    def test_47_1_manila_lite_ends_if_a_thread_holds_its_interpreter(self):
        """Check that it ends with an error, so that it is started again, and that its log names the code."""
        self.hold('lite')
        self.assertEqual(1, self.started['lite'].wait(timeout=waiting.LIMIT), self.parts.tail())
        self.assertIn('in _hold', self.parts.log.read_text())

    def test_hup_reads_the_configuration_again(self):
        """Read a default of the API and a pool size of the backend anew when their children are forked again."""
        self.start('api', 'scheduler', 'share', backend='driver = dummy\ndummy_pool_size_gb = 100\n')
        self.parts.until(self.parts.pools, 'a pool')
        self.parts.edit('default_share_type = default', 'default_share_type = other')
        self.parts.edit('dummy_pool_size_gb = 100', 'dummy_pool_size_gb = 55')
        for name in ('api', 'share'):
            old = self.child(name)
            self.started[name].send_signal(signal.SIGHUP)
            self.child(name, besides=(old.pid,))
            self.assertIsNone(self.started[name].poll())
        self.parts.until(
            lambda: self.call_status() == 400, 'the new default type, which is not there, is asked for'
        )
        self.parts.until(lambda: self.total() == 55, 'the pool has its new size')

    def call_status(self):
        return self.parts.call('POST', '/shares', {'share': {'size': 1, 'share_proto': 'NFS'}})[0]

    def total(self):
        pools = self.parts.ok('GET', '/scheduler-stats/pools/detail')['pools']
        return pools[0]['capabilities'].get('total_capacity_gb') if pools else None

    def test_hup_reloads_the_configuration_of_the_all_in_one_process(self):
        """Apply changed options in the same process; change nothing if the file cannot be read."""
        lite = self.useFixture(process.Lite())
        self.parts = lite
        lite.start()
        text = lite.config.read_text()
        lite.ok('POST', '/types', process.DEFAULT_TYPE)
        lite.config.write_text('[DEFAULT\nnonsense')
        lite.process.send_signal(signal.SIGHUP)
        process.until(lambda: 'reload failed' in lite.log.read_text(), 'it is said', lite.tail)
        self.assertNotEqual(400, self.call_status())
        lite.config.write_text(text.replace('default_share_type = default', 'default_share_type = other'))
        lite.process.send_signal(signal.SIGHUP)
        process.until(
            lambda: self.call_status() == 400,
            'the new default type, which is not there, is asked for',
            lite.threads,
        )
        self.assertIsNone(lite.process.poll())

    def test_wrong_configuration_at_hup_is_logged_and_can_be_corrected(self):
        self.start('api', 'share')
        self.parts.until(self.parts.pools, 'a pool')
        old = self.child('share')
        self.parts.edit('driver = dummy', 'driver = nonsense')
        self.started['share'].send_signal(signal.SIGHUP)
        self.parts.until(
            lambda: 'Cannot start yet, trying again' in self.parts.log.read_text(), 'the mistake is said'
        )
        self.parts.edit('driver = nonsense', 'driver = dummy')
        self.started['share'].send_signal(signal.SIGHUP)
        self.parts.until(lambda: self.is_up('manila-share'), 'the backend is back')
        self.assertNotEqual(old.pid, self.child('share').pid)
        self.assertNotIn('Traceback', self.parts.log.read_text())

    def test_hup_starts_a_child_whose_restart_was_delayed(self):
        self.start('api', 'share')
        self.parts.until(self.parts.pools, 'a pool')

        def held_back():
            for child in process.children(self.started['share']):
                child.kill()
            return 'Processes end as soon as they start' in self.parts.log.read_text()

        self.parts.until(held_back, 'the master holds back')
        self.started['share'].send_signal(signal.SIGHUP)
        self.child('share')
        self.parts.until(lambda: self.is_up('manila-share'), 'the backend is back')

    def test_a_dead_child_is_started_again(self):
        self.start('api', 'scheduler', 'share')
        self.parts.until(self.parts.pools, 'a pool')
        for name in self.started:
            old = self.child(name)
            old.kill()
            self.child(name, besides=(old.pid,))
        self.parts.until(self.parts.answers, 'the API answers again')
        self.share_becomes_available()

    def test_children_do_not_outlive_their_master(self):
        self.start('api', 'scheduler', 'share')
        self.parts.until(self.parts.pools, 'a pool')
        for name, started in self.started.items():
            child = self.child(name)
            started.kill()
            started.wait(timeout=waiting.LIMIT)
            gone, _alive = psutil.wait_procs([child], timeout=waiting.LIMIT)
            self.assertEqual([child], gone, f'{name}: {self.parts.tail()}')

    def test_services_whose_master_was_killed_are_down_and_were_not_stopped(self):
        self.start('api', 'scheduler', 'share', extra=f'service_down_time = {_FEW_SECONDS}\n')
        self.parts.until(self.parts.pools, 'a pool')
        for name in ('scheduler', 'share'):
            child = self.child(name)
            self.started[name].kill()
            gone, _alive = psutil.wait_procs([child], timeout=waiting.LIMIT)
            self.assertEqual([child], gone, f'{name}: {self.parts.tail()}')
            self.assertFalse(self.recorded(f'manila-{name}')['stopped'], self.parts.tail())
            self.parts.until(
                lambda name=name: self.recorded(f'manila-{name}')['state'] == 'down', 'it counts as down'
            )
            self.started[name] = self.parts.run(name)
            self.parts.until(lambda name=name: self.is_up(f'manila-{name}'), 'it is up again')

    def test_a_slow_backend_is_up_before_it_is_ready(self):
        """Send heartbeats while the backend is being set up and has no pool yet."""
        self.parts = self.useFixture(process.Parts())
        self.parts.knobs('setup:hang')
        self.started = {name: self.parts.run(name) for name in ('api', 'share')}
        self.parts.until(self.parts.answers, 'the API answers')
        self.parts.until(lambda: self.parts.calls('setup'), 'the backend is being made ready')
        self.parts.until(lambda: self.is_up('manila-share'), 'the service is up')
        self.assertEqual([], self.parts.pools())
        self.parts.knobs()
        self.parts.until(self.parts.pools, 'a pool')

    def test_other_backend_runs_on_when_the_process_of_one_dies(self):
        """Let the other backend's process run on when one dies."""
        self.start(
            'api', 'scheduler', 'share', extra='enabled_share_backends = alpha,beta\n[beta]\ndriver = dummy\n'
        )
        self.parts.until(lambda: self.parts.pools()[1:], 'two pools')
        self.assertEqual({'test@alpha', 'test@beta'}, {name.partition('#')[0] for name in self.parts.pools()})
        both = self.parts.until(
            lambda: process.children(self.started['share'])[1:] and process.children(self.started['share']),
            'two children',
        )
        both[0].kill()
        self.parts.until(lambda: len(process.children(self.started['share'])) == 2, 'it is started again')
        self.assertIn(both[1].pid, {child.pid for child in process.children(self.started['share'])})
