# SPDX-License-Identifier: Apache-2.0
"""Progress as lines and as a bar."""

import io

import testtools
from manila_lite_client import display
from manila_lite_client.operations import Operation
from rich.console import Console


def operation(percent, state='open', error=None):
    """Return an operation with this progress."""
    return Operation.existing(
        id='o',
        kind='k',
        resource_id='r',
        phase='copy',
        steps=1,
        state=state,
        error=error,
        progress={'percent': percent},
    )


class Lines(testtools.TestCase):
    def told(self, *looks):
        """Return the lines that these operations make, each seen at a time in seconds."""
        out, clock = io.StringIO(), iter([at for at, _ in looks])
        with display.Lines(out, lambda: next(clock)) as lines:
            for _, op in looks:
                lines.show(op)
        return out.getvalue().splitlines()

    def test_changes_are_told_every_few_seconds(self):
        self.assertEqual(
            ['k of r: copy, 1 %', 'k of r: copy, 3 %'],
            self.told(*((at, operation(1 + at // 2)) for at in range(8))),
        )

    def test_the_same_is_told_once(self):
        self.assertEqual(['k of r: copy, 1 %'], self.told(*((at, operation(1)) for at in range(0, 90, 10))))

    def test_the_end_is_told_at_once(self):
        self.assertEqual(
            ['k of r: copy', 'k of r: done'], self.told((0, operation(None)), (1, operation(None, 'done')))
        )


class Bar(testtools.TestCase):
    def drawn(self, *ops):
        """Return what a terminal shows."""
        out = io.StringIO()
        with display.Bar(Console(file=out, force_terminal=True, width=100)) as bar:
            for op in ops:
                bar.show(op)
        return out.getvalue()

    def test_bar_has_phase_and_percentage(self):
        text = self.drawn(operation(40))
        self.assertIn('k: copy', text)
        self.assertIn('40%', text)

    def test_bar_is_full_when_the_operation_is_done(self):
        self.assertIn('100%', self.drawn(operation(40), operation(None, 'done')))

    def test_error_so_far_is_told_once_and_names_nothing_in_brackets_as_markup(self):
        text = self.drawn(*[operation(40, error='No [bold]room')] * 3)
        self.assertEqual(1, text.count('No [bold]room'))


class Choice(testtools.TestCase):
    def test_what_is_no_terminal_gets_lines(self):
        self.assertIsInstance(display.on(io.StringIO()), display.Lines)
