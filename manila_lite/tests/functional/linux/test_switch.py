# SPDX-License-Identifier: Apache-2.0
"""An operator switches a backend with failover to another machine: no acknowledged write is lost, and one machine serves."""

import json
import sys
import tempfile
import time

from manila_lite.tests import forks, waiting
from manila_lite.tests.functional import manage
from manila_lite.tests.functional.linux import failover_base as base

#: Seconds without an answer that a planned switch may cost a client that writes, on a busy machine: far below the lease.
_SHORT = 20.0
#: Seconds until the record of a client's first open is on the disk, without which it may not reclaim: btrfs takes five.
_ON_DISK = 7
#: Seconds after which a machine that reports nothing counts as one that is not ready to take over.
_NOTICED = 6
_SERVES, _WAITS, _DRAINED = ('serves', 'enabled'), ('waits', 'enabled'), ('waits', 'drained')
_ENDS, _TAKES_OVER = 'this process ends its work there', 'this process takes over'


class SwitchTest(base.FailoverTest):
    """Two machines, and the commands of an operator."""

    def manage(self, *words, status=0):
        """Run a command that must end with this exit status; return its output and its error output."""
        got, out, err = manage.run(self.parts.config, 'manage', *words)
        self.assertEqual(status, got, out + err)
        return out, err

    def machines(self):
        """Return (stage, status) of each machine."""
        shown = json.loads(self.manage('host', 'machines', '--format', 'json')[0])
        self.assertEqual({'test@alpha'}, {one['backend'] for one in shown})
        return {one['machine']: (one['stage'], one['status']) for one in shown}

    def drain(self, name, *words, **more):
        """Drain a machine; return the output."""
        return self.manage('host', 'drain', name, '--yes', '--every', '0.1', *words, **more)[0]

    def begin(self):
        """Start both share managers, and a client that writes. Return the path of its share, and the client."""
        path = super().begin()
        self.start(self.two)
        self.until(lambda: self.machines() == {'one': _SERVES, 'two': _WAITS}, 'one serves, and two waits')
        return path, self.writer(path)

    def alone(self, host):
        """Wait until this host has the backend, and the other one nothing of it."""
        other = self.two if host is self.one else self.one

        def alone():
            return (
                len(host.guards()) == 1
                and len(host.spaces()) == len(host.servers()) > 0
                and not (other.guards() or other.remains())
            )

        self.until(alone, 'one machine has the backend')

    def gap(self, title, writer, path):
        """Check that the client goes on with all that it wrote, and print its longest gap. Return that."""
        writer.goes_on()
        print(f'\nSwitch, {title}: {writer.longest:.1f} s without an answer', file=sys.stderr)
        self.assert_kept(writer, path)
        return writer.longest

    def begin_drain(self, name):
        """Drain a machine, and do not wait for the end of the command."""
        out = self.enterContext(tempfile.TemporaryFile('w+'))
        started = forks.start(
            'manila_lite.cmd.manage:main',
            f'--config-file={self.parts.config}',
            'host',
            'drain',
            name,
            '--yes',
            stdout=out,
            stderr=out,
        )
        self.addCleanup(started.wait, waiting.LIMIT)
        self.addCleanup(started.kill)
        return started

    def begin_work(self):
        """Begin work that the machine ``one`` cannot end while its fabric is busy."""
        self.request(self.share_network())
        self.until(lambda: len(self.one.spaces()) == 2, 'another share server is being made')


class Switch(SwitchTest):
    """With a lease that is longer than any switch takes: nobody waits for its end."""

    LEASE = 60

    def test_there_and_back(self):
        path, writer = self.begin()
        began = time.monotonic()
        self.until(lambda: time.monotonic() - began > _ON_DISK, 'the record of the client is on the disk')
        self.assertRegex(self.drain('one', '--dry-run'), r'backend +test@alpha +one +two +pause')
        self.assertEqual({'one': _SERVES, 'two': _WAITS}, self.machines())
        self.assertIn('test@alpha: two serves', self.drain('one'))
        self.alone(self.two)
        self.assertEqual({'one': _DRAINED, 'two': _SERVES}, self.machines())
        self.assertLess(self.gap('there', writer, path), _SHORT)
        self.assertIn('one is drained itself', self.manage('host', 'drain', 'two', '--yes', status=1)[1])
        self.manage('host', 'drain', 'one', '--undo')
        writer = self.writer(path, 'log-2')
        self.drain('two@alpha')
        self.alone(self.one)
        self.assertLess(self.gap('back', writer, path), _SHORT)
        self.assertEqual({'one': _SERVES, 'two': _DRAINED}, self.machines())

    def test_refused_without_another_machine(self):
        path = base.FailoverTest.begin(self)
        writer = self.writer(path)
        self.until(lambda: self.machines() == {'one': _SERVES}, 'one serves')
        self.assertIn('one is its only machine. Start manila-share on another one', self.refused('one'))
        self.start(self.two)
        self.until(lambda: self.machines() == {'one': _SERVES, 'two': _WAITS}, 'two waits')
        self.assertIn('All machines of test@alpha share the name test.', self.refused('test'))
        for one in self.two.managers():
            one.terminate()
        self.until(lambda: self.machines()['two'][0] == 'gone', 'two waits no more')
        self.assertRegex(
            self.refused('one'), r'two was last seen at .* start manila-share there\. Nothing was changed\.'
        )
        self.assertEqual(('serves', 'enabled'), self.machines()['one'])
        writer.goes_on(100)
        self.assertEqual([], writer.reclaims)

    def refused(self, name):
        """Return the words with which a drain of this name is refused."""
        return self.manage('host', 'drain', name, '--yes', status=1)[1]

    def test_share_manager_that_is_killed_while_its_guard_lets_go_passes_the_backend_on(self):
        """Stop the guard, so that it cannot let go, and kill the share manager that waits for it; its parent starts another."""
        path, writer = self.begin()
        (guard,) = self.one.guards()
        (master,) = (one for one in self.one.managers() if one.parent() not in self.one.managers())
        guard.suspend()
        self.begin_drain('one')
        fenced = self.one.own / 'state' / 'alpha' / 'guard' / 'fenced'
        self.until(fenced.exists, 'the share manager has the guard let go')
        self.one.signal([one for one in self.one.managers() if one != master], base.KILL)
        self.until(lambda: len(self.one.managers()) == 2, 'the parent has started it again')
        guard.resume()
        self.alone(self.two)
        self.assertLess(self.gap('holder killed while it lets go', writer, path), self.LEASE / 2)
        self.assertEqual({'one': _DRAINED, 'two': _SERVES}, self.machines())


class Crash(SwitchTest):
    """A machine dies in the middle of a switch."""

    def test_holder_is_killed_while_it_ends_its_work(self):
        """Its guard goes on until the end of the lease; then the other machine serves, and finishes the work."""
        path, writer = self.begin()
        with self.one.busy_fabric():
            self.begin_work()
            drain = self.begin_drain('one')
            self.said(_ENDS)
            self.one.signal(self.one.managers(), base.KILL)
        self.assertEqual(0, drain.wait(waiting.LIMIT))
        self.alone(self.two)
        self.gap('holder killed', writer, path)
        self.start(self.one)
        self.until(lambda: self.machines() == {'one': _DRAINED, 'two': _SERVES}, 'two serves, and one waits')
        self.alone(self.two)

    def test_taker_is_killed_while_it_takes_over(self):
        """The drained machine serves again, since no other one waits; and no more once the other one is back."""
        path, writer = self.begin()
        with self.two.busy_fabric():
            drain = self.begin_drain('one')
            self.said(_TAKES_OVER)
            self.until(self.two.mounts, 'two has mounted the pool')
            self.two.signal(self.two.managers(), base.KILL)
        self.alone(self.one)
        self.assertEqual(1, drain.wait(waiting.LIMIT))
        self.assertEqual({'one': ('serves', 'drained'), 'two': ('gone', 'enabled')}, self.machines())
        self.gap('taker killed', writer, path)
        writer = self.writer(path, 'log-2')
        self.start(self.two)
        self.alone(self.two)
        self.gap('taker back', writer, path)

    def test_taker_dies_before_the_holder_lets_go(self):
        """Clients notice nothing: the pool stays where it is, with its guard and its servers."""
        _, writer = self.begin()
        guard = self.one.guards()
        with self.one.busy_fabric():
            self.begin_work()
            self.begin_drain('one')
            self.said(_ENDS)
            self.two.power_off()
            died = time.monotonic()
            self.until(lambda: time.monotonic() - died > _NOTICED, 'two reported nothing for some seconds')
        self.said('this one serves on')
        self.until(lambda: self.machines()['one'] == ('serves', 'drained'), 'one serves')
        writer.goes_on(50)
        self.assertEqual((guard, []), (self.one.guards(), writer.reclaims))
        self.share()
