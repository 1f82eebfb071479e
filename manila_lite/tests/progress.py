# SPDX-License-Identifier: Apache-2.0
"""The progress of a long run: a bar at a terminal, elsewhere a line every few seconds."""

import sys
import time

_BAR, _LINE = 30, 5.0


class Progress:
    """The progress of a run of ``seconds``, which begins now."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self._start = self._said = time.monotonic()

    def show(self, words: str) -> None:
        """Show the time and the words."""
        now = time.monotonic()
        done = min(1.0, (now - self._start) / self._seconds)
        line = f'{now - self._start:4.0f} s: {words}'
        if sys.stdout.isatty():
            filled = int(done * _BAR)
            print(f'\r[{"#" * filled}{"." * (_BAR - filled)}] {line:<75}', end='', flush=True)
        elif now - self._said >= _LINE:
            self._said = now
            print(line, flush=True)
