# SPDX-License-Identifier: Apache-2.0
"""Common parts of benchmarks: options, medians, and lines that compare within one run; a table, then JSON on the last line.

Only ratios within one run are reliable: they hold on any machine, loaded or not. Times are processor times where
possible: on a busy machine a benchmark is slower, but its results hardly differ.
"""

import argparse
import dataclasses
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: Amounts of work: to see that a benchmark works, for a first look, for figures to keep.
TINY, QUICK, FULL = 'tiny', 'quick', 'full'


@dataclasses.dataclass
class Line:
    """A figure, and its ratio to the baseline's; ``target`` is about that ratio."""

    what: str
    value: float
    unit: str
    baseline: str | None = None
    ratio: float | None = None
    target: str | None = None
    met: bool | None = None

    def row(self) -> list[str]:
        """Return the line as cells."""
        verdict = '' if self.met is None else f'{self.target}: {"met" if self.met else "MISSED"}'
        ratio = '' if self.ratio is None else f'{self.ratio:.3g} x {self.baseline}'
        return [
            self.what,
            f'{self.value:,.4g}' if self.value < 1000 else f'{self.value:,.0f}',
            self.unit,
            ratio,
            verdict,
        ]


class Report:
    """The lines of one benchmark."""

    def __init__(self, name: str, args: argparse.Namespace):
        self.name = name
        self.args = args
        self.size: str = args.size
        self.lines: list[Line] = []
        self.notes: list[str] = []

    def pick(self, tiny: Any, quick: Any, full: Any) -> Any:
        """Return the amount of work."""
        return {TINY: tiny, QUICK: quick, FULL: full}[self.size]

    def add(
        self,
        what: str,
        value: float,
        unit: str,
        to: Line | None = None,
        *,
        least: float | None = None,
        most: float | None = None,
    ) -> Line:
        """Add a figure and its ratio to that of the line ``to``, which shall be at least, or at most, so much."""
        line = Line(what, value, unit)
        if to is not None:
            line.baseline, line.ratio = to.what, value / to.value if to.value else float('inf')
            if least is not None:
                line.target, line.met = f'at least {least:.3g}', line.ratio >= least
            if most is not None:
                line.target, line.met = f'at most {most:.3g}', line.ratio <= most
        self.lines.append(line)
        return line

    def note(self, text: str) -> None:
        """Add a remark for readers."""
        self.notes.append(text)

    def show(self) -> None:
        """Print the table, and the JSON as one line."""
        rows = [['what', 'value', 'unit', 'ratio', 'target'], *(line.row() for line in self.lines)]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        for row in rows:
            print(
                '  '.join(
                    cell.rjust(width) if column == 1 else cell.ljust(width)
                    for column, (cell, width) in enumerate(zip(row, widths, strict=True))
                ).rstrip()
            )
        for text in self.notes:
            print(f'Note: {text}')
        print(
            json.dumps(
                {
                    'benchmark': self.name,
                    'size': self.size,
                    'cores': os.cpu_count(),
                    'notes': self.notes,
                    'lines': [dataclasses.asdict(line) for line in self.lines],
                }
            ),
            flush=True,
        )


def say(text: str) -> None:
    """Show the progress."""
    print(f'... {text}', file=sys.stderr, flush=True)


def costs(functions: Sequence[Callable[[], Any]], calls: int, rounds: int = 5) -> list[float]:
    """Return microseconds of processor time of this process per call, for each function: medians of several rounds. All
    functions take turns in a round, so that each meets the same load of the machine.
    """
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function()
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            began = time.process_time()
            for _ in range(calls):
                function()
            taken.append((time.process_time() - began) / calls * 1e6)
    return [statistics.median(taken) for taken in times]


def seconds(call: Callable[[], Any], then: Callable[[], Any] = lambda: None) -> float:
    """Return the seconds of a call, and one after it, by the clock."""
    began = time.monotonic()
    call()
    then()
    return time.monotonic() - began


def percentile(values: list[float], part: float) -> float:
    """Return the value below which ``part`` (0 to 1) of the values are."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """Add the options that all benchmarks have."""
    parser.add_argument(
        '--quick',
        dest='size',
        action='store_const',
        const=QUICK,
        default=FULL,
        help='short run with less exact results: all of them within five minutes',
    )
    parser.add_argument(
        '--tiny',
        dest='size',
        action='store_const',
        const=TINY,
        help='smallest run, only to see that it works',
    )
    parser.add_argument('--check', action='store_true', help='exit 1 if a target is missed')


def main(
    doc: str, measure: Callable[[Report], None], options: Mapping[str, dict[str, Any]] | None = None
) -> int:
    """Run one benchmark as a command. It fails if it measured nothing, and with ``--check`` if it missed a target. ``options``:
    more of them, with the arguments of ``add_argument``.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_sizes(parser)
    for name, described in (options or {}).items():
        parser.add_argument(name, **described)
    args = parser.parse_args()
    report = Report(os.path.splitext(os.path.basename(sys.argv[0]))[0], args)
    measure(report)
    report.show()
    return int(not report.lines or (args.check and any(line.met is False for line in report.lines)))
