# SPDX-License-Identifier: Apache-2.0
"""What became of each fault that was judged: a file in git, so that the next session goes on where this one ended."""

import pathlib
import threading

from mutation.judge import Verdict

FILE = pathlib.Path(__file__).with_name('results.tsv')


class Results:
    """Verdicts by the key of the fault. Each is in the file as soon as it is known; the file is sorted when all is done."""

    def __init__(self, file: pathlib.Path = FILE) -> None:
        self._file, self._lock = file, threading.Lock()
        self.known: dict[str, Verdict] = {}
        if file.exists():
            for line in file.read_text().splitlines():
                key, outcome, by = line.split('\t')
                self.known[key] = Verdict(outcome, by)

    def add(self, key: str, verdict: Verdict) -> None:
        """The verdict is kept."""
        with self._lock, self._file.open('a') as file:
            self.known[key] = verdict
            file.write(f'{key}\t{verdict.outcome}\t{verdict.by}\n')

    def tidy(self, keys: set[str]) -> None:
        """The file has one line for each of these faults that was judged, and no others."""
        with self._lock:
            self._file.write_text(''.join(f'{key}\t{verdict.outcome}\t{verdict.by}\n'
                                          for key, verdict in sorted(self.known.items()) if key in keys))
