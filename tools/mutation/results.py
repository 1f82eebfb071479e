# SPDX-License-Identifier: Apache-2.0
"""Results of all tested faults: a file in git, so that the next session goes on from this one."""

import pathlib
import threading

from mutation.judge import Verdict

FILE = pathlib.Path(__file__).with_name('results.tsv')


class Results:
    """Verdicts by the key of the fault. Each is written to the file at once; the file is sorted at the end."""

    def __init__(self, file: pathlib.Path = FILE) -> None:
        self._file, self._lock = file, threading.Lock()
        self.known: dict[str, Verdict] = {}
        if file.exists():
            for line in file.read_text().splitlines():
                key, outcome, by = line.split('\t')
                self.known[key] = Verdict(outcome, by)

    def add(self, key: str, verdict: Verdict) -> None:
        """Keep the verdict."""
        with self._lock, self._file.open('a') as file:
            self.known[key] = verdict
            file.write(f'{key}\t{verdict.outcome}\t{verdict.by}\n')

    def tidy(self, keys: set[str]) -> None:
        """Rewrite the file with a line for each of these faults that was tested, and no others."""
        with self._lock:
            self._file.write_text(''.join(f'{key}\t{verdict.outcome}\t{verdict.by}\n'
                                          for key, verdict in sorted(self.known.items()) if key in keys))
