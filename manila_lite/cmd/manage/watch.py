# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: a moving bar on a terminal, and a line for each change elsewhere."""

import dataclasses
import sys
import time
from collections.abc import Callable
from typing import Any, Self, TextIO

from manila_lite.cmd import log_lines
from manila_lite.cmd.manage.command import GOOD, WRONG

#: Exit status after Ctrl-C.
STOPPED = 130
#: Percentage points between lines, so that a long copy prints few of them.
_STEP = 5


@dataclasses.dataclass(frozen=True)
class Progress:
    """Progress of an operation. ``phase`` is a word or two, ``detail`` the figures, ``hint`` advice for the operator.

    ``percent`` None: unknown. ``ended`` None: not yet; True: with success; False: with a failure, which ``hint``
    explains. The texts are escaped: errors can contain a tenant's words, and must not steer the terminal.
    """

    phase: str
    percent: int | None = None
    detail: str = ''
    seconds_left: int | None = None
    hint: str = ''
    ended: bool | None = None

    def __post_init__(self) -> None:
        for name in ('phase', 'detail'):
            object.__setattr__(self, name, log_lines.escaped(getattr(self, name)))
        object.__setattr__(self, 'hint', '\n'.join(log_lines.escaped(line) for line in self.hint.split('\n')))

    @property
    def change(self) -> tuple[Any, ...]:
        """The values whose change is worth another line."""
        return self.phase, None if self.percent is None else self.percent // _STEP, self.hint, self.ended


def watch(read_progress: Callable[[], Progress], every: float = 1.0, out: TextIO | None = None) -> int:
    """Show the result of ``read_progress`` at once and every ``every`` seconds, until it has ended.

    :returns: the exit status: 0 it ended well, 1 it failed, 130 Ctrl-C was pressed; the work goes on then.
    """
    try:
        with display(out) as show:
            while True:
                now = read_progress()
                show.update(now)
                if now.ended is not None:
                    return GOOD if now.ended else WRONG
                time.sleep(every)
    except KeyboardInterrupt:
        return STOPPED


def display(out: TextIO | None = None) -> '_Bar | _Lines':
    """Return a context manager that shows each ``Progress`` of ``update``: as a bar, or as lines for files and pipes."""
    out = out or sys.stdout
    return _Bar(out) if out.isatty() else _Lines(out)


class _Lines:
    """Progress lines for files and pipes."""

    def __init__(self, out: TextIO):
        self._out = out
        self._last: tuple[Any, ...] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: there is nothing to close."""

    def update(self, now: Progress) -> None:
        """Print a line if something changed."""
        if now.change == self._last:
            return
        self._last = now.change
        parts = (
            now.phase,
            '' if now.percent is None else f'{now.percent} %',
            now.detail,
            _left(now),
            now.hint,
        )
        print('  '.join(part for part in parts if part), file=self._out, flush=True)


class _Bar:
    """A progress bar for terminals. Hints are printed above the bar and stay."""

    def __init__(self, out: TextIO):
        from rich import console, progress  # they are slow to import, and not for output into pipes

        self._progress = progress.Progress(
            progress.TextColumn('{task.description}', markup=False),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TextColumn('{task.fields[detail]}', markup=False),
            progress.TextColumn('{task.fields[left]}'),
            console=console.Console(file=out),
        )
        self._task = self._progress.add_task('', total=None, detail='', left='')
        self._hint = ''

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, now: Progress) -> None:
        """Draw the bar, and print a new hint."""
        if now.hint and now.hint != self._hint:
            self._progress.console.print(now.hint, markup=False, highlight=False)
        self._hint = now.hint
        self._progress.update(
            self._task,
            description=now.phase,
            total=None if now.percent is None else 100,
            completed=now.percent or 0,
            detail=now.detail,
            left=_left(now),
        )


def _left(now: Progress) -> str:
    return '' if now.ended is not None or now.seconds_left is None else f'{time_left(now.seconds_left)} left'


def time_left(seconds: int | None) -> str:
    """Return ``2 min 3 s``; nothing if it is unknown."""
    if seconds is None:
        return ''
    minutes, seconds = divmod(seconds, 60)
    return f'{minutes} min {seconds} s' if minutes else f'{seconds} s'


def fraction(done: float | None, total: float | None, unit: str) -> str:
    """Return ``3 of 10 shares``, or as much of it as is known."""
    if done is None:
        return ''
    return f'{_number(done)}{"" if total is None else f" of {_number(total)}"} {unit}'


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f'{value:.1f}'


def to_gib(count: int | None) -> float | None:
    """Return bytes as GiB."""
    return None if count is None else count / (1 << 30)
