# SPDX-License-Identifier: Apache-2.0
"""An operator switches a backend with failover to another machine: no acknowledged write is lost, and one machine serves."""

import json
import sys
import time

from manila_lite.tests.functional import manage
from manila_lite.tests.functional.linux import failover_base as base

#: Seconds without an answer that a planned switch may cost a client that writes, on a busy machine.
_SHORT = 8.0
_SERVES, _WAITS = ('serves', 'enabled'), ('waits', 'enabled')


class SwitchTest(base.FailoverTest):
    """Two machines, and the commands of an operator."""

    def manage(self, *words, status=0):
        """Run a command that must end with this exit status; return its output and its error output."""
        got, out, err = manage.run(self.parts.config, 'manage', *words)
        self.assertEqual(status, got, out + err + self.parts.tail())
        return out, err

    def machines(self):
        """Return (state, status) of each machine."""
        shown = json.loads(self.manage('host', 'machines', '--format', 'json')[0])
        self.assertEqual({'test@alpha'}, {one['backend'] for one in shown})
        return {one['machine']: (one['state'], one['status']) for one in shown}

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
        """Check that this host has the backend, and the other one nothing of it."""
        other = self.two if host is self.one else self.one
        self.until(lambda: not other.remains() and not other.guards(), 'the other machine has nothing of the backend')
        self.assertEqual((1, 1), (len(host.guards()), len(host.spaces())), host.remains())

    def gap(self, title, writer, path):
        """Check that the client goes on, and print its longest gap. Return that."""
        writer.goes_on()
        print(f'\nSwitch, {title}: {writer.longest:.1f} s without an answer', file=sys.stderr)
        longest = writer.longest
        self.assert_kept(writer, path)
        return longest


class Switch(SwitchTest):
    """The lease is longer than any switch takes: nobody waits for its end."""

    LEASE = 60

    def test_there_and_back(self):
        path, writer = self.begin()
        time.sleep(7)       # sleeps: until the record of the client is on the disk; btrfs writes it after five
        plan = self.drain('one', '--dry-run')
        self.assertRegex(plan, r'backend +test@alpha +one +two +pause')
        self.assertEqual({'one': _SERVES, 'two': _WAITS}, self.machines())
        said = self.drain('one')
        self.assertIn('test@alpha: two serves', said)
        self.alone(self.two)
        self.assertEqual({'one': ('waits', 'drained'), 'two': _SERVES}, self.machines())
        self.assertLess(self.gap('there', writer, path), _SHORT)
        self.assertIn('one is drained itself', self.manage('host', 'drain', 'two', '--yes', status=1)[1])
        self.manage('host', 'drain', 'one', '--undo')
        writer = self.writer(path, 'log-2')
        self.drain('two@alpha')
        self.alone(self.one)
        self.assertLess(self.gap('back', writer, path), _SHORT)
        self.assertEqual({'one': _SERVES, 'two': ('waits', 'drained')}, self.machines())
