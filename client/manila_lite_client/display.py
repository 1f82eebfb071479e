# SPDX-License-Identifier: Apache-2.0
"""Progress of an operation on the screen: a moving bar at a terminal, and now and then a line elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from rich import progress
from rich.console import Console

from manila_lite_client import texts
from manila_lite_client.operations import Operation

#: Seconds between two lines, at least.
EVERY = 5.0
_ALL = 100


class Lines:
    """Progress as lines, for files and pipes: a new one only if something changed, and not too soon."""

    def __init__(self, out: TextIO, now: Callable[[], float] = time.monotonic):
        self._out = out
        self._now = now
        self._next = float('-inf')
        self._last = ''

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing: there is nothing to close."""

    def show(self, op: Operation) -> None:
        """Print a line, if it is time for one. The end is always told."""
        line, now = texts.sentence(op), self._now()
        if line == self._last or (now < self._next and not op.has_ended):
            return
        self._last, self._next = line, now + EVERY
        print(line, file=self._out, flush=True)


class Bar:
    """Progress as a bar, for terminals."""

    def __init__(self, console: Console):
        self._bar = progress.Progress(
            progress.TextColumn('{task.description}', markup=False),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TextColumn('{task.fields[rest]}', markup=False),
            console=console,
            refresh_per_second=4,
        )
        self._task = self._bar.add_task('', total=None, rest='')
        self._trouble = ''

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, op: Operation) -> None:
        """Draw the bar. An error so far is printed above it, and stays."""
        trouble = texts.trouble(op)
        if trouble and trouble != self._trouble and not op.has_ended:
            self._bar.console.print(trouble, markup=False, highlight=False)
        self._trouble = trouble
        percent = _ALL if op.state == 'done' else op.figure('percent')
        rest = (texts.amount(op), texts.time_left(op)) if not op.has_ended else ()
        self._bar.update(
            self._task,
            total=None if percent is None else _ALL,
            completed=percent or 0,
            description=f'{texts.printable(str(op.kind))}: {op.state if op.has_ended else texts.phase(op)}',
            rest=', '.join(part for part in rest if part),
        )


def on(out: TextIO) -> Bar | Lines:
    """Return what shows progress on ``out``: a bar only if that and the standard output are a terminal with a cursor."""
    console = Console(file=out)
    at_terminal = (
        out.isatty() and sys.stdout.isatty() and console.is_terminal and not console.is_dumb_terminal
    )
    return Bar(console) if at_terminal else Lines(out)
