# SPDX-License-Identifier: Apache-2.0

import io
import os
import pty

import testtools

from manila_lite.cmd.manage import watch
from manila_lite.cmd.manage.watch import Progress

_COURSE = [
    Progress('preparing'),
    Progress('copying', 1, '0.1 of 4.0 GiB', 125),
    Progress('copying', 3, '0.2 of 4.0 GiB', 90),
    Progress('copying', 50, '2.0 of 4.0 GiB', 7),
    Progress('ready', 100, hint='Say go.'),
    Progress('ready', 100, hint='Say go.'),
]


class Watch(testtools.TestCase):
    def course(self, *more):
        """Return a function that gives one state after another."""
        return iter([*_COURSE, *more]).__next__

    def test_each_change_is_printed_on_one_line(self):
        out = io.StringIO()
        self.assertEqual(0, watch.watch(self.course(Progress('moved', 100, ended=True)), 0, out))
        self.assertEqual(
            [
                'preparing',
                'copying  1 %  0.1 of 4.0 GiB  2 min 5 s left',
                'copying  50 %  2.0 of 4.0 GiB  7 s left',
                'ready  100 %  Say go.',
                'moved  100 %',
            ],
            out.getvalue().splitlines(),
        )

    def test_failed_end_returns_1_and_prints_its_hint(self):
        out = io.StringIO()
        self.assertEqual(1, watch.watch(self.course(Progress('failed', hint='Why.', ended=False)), 0, out))
        self.assertEqual('failed  Why.', out.getvalue().splitlines()[-1])

    def test_keyboard_interrupt_returns_130(self):
        def look():
            raise KeyboardInterrupt

        self.assertEqual(130, watch.watch(look, 0, io.StringIO()))

    def test_progress_bar_is_shown_on_a_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with os.fdopen(theirs, 'w') as out:
            self.assertEqual(0, watch.watch(self.course(Progress('moved', 100, ended=True)), 0, out))
            out.flush()
            shown = _all(ours)
        self.assertEqual(1, shown.count('Say go.'))
        self.assertIn('moved', shown)
        self.assertIn('100%', shown)

    def test_control_characters_are_escaped_in_output(self):
        evil = 'away\x1b[2J\x1b]0;owned\x07\u202e[red]'
        last = Progress(evil, 100, evil, hint=evil, ended=True)
        out = io.StringIO()
        watch.watch(self.course(last), 0, out)
        self.assertEqual(3, out.getvalue().count('away\\u001b[2J'))
        self.assertNotRegex(out.getvalue(), '[\x00-\x09\x0b-\x1f\u202e]')
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        os.set_blocking(ours, False)
        with os.fdopen(theirs, 'w') as terminal:
            watch.watch(self.course(last), 0, terminal)
            terminal.flush()
            shown = _all(ours)
        self.assertNotIn('\x1b[2J', shown)
        self.assertNotIn('owned\x07', shown)
        self.assertIn('[red]', shown)

    def test_figures_have_their_total_and_unit(self):
        self.assertEqual('3 of 10 shares', watch.fraction(3, 10, 'shares'))
        self.assertEqual('1.5 GiB', watch.fraction(watch.to_gib(3 << 29), None, 'GiB'))
        self.assertEqual('', watch.fraction(watch.to_gib(None), None, 'GiB'))


def _all(terminal):
    """Return all text that was written to a terminal until now: it comes in parts."""
    os.set_blocking(terminal, False)
    found = b''
    while True:
        try:
            found += os.read(terminal, 1 << 16)
        except BlockingIOError:
            return found.decode()
