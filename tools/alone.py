#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run each class of tests alone, in a process of its own: tools/alone.py FILE [REGEX...]

A test fails here if it passes only because of an import, an option or a row that another class left. All classes run, or
those with a test whose name matches a REGEX. A failed class is reported at once. FILE gets the results of all classes, as
subunit, for tools/tally.py. The time limit of a class is the limit between two tests (manila_lite/tests/limits.py):
25 minutes. Exit code 1 if a class failed, or if there was none. $TEST_CONCURRENCY: number of processes at the same time;
default: one per processor.
"""

import contextlib
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings
from collections.abc import Sequence
from concurrent import futures

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tally  # noqa: E402 - beside this file

from manila_lite.tests import limits, order  # noqa: E402 - from this tree, whatever is installed

#: Processes at a time.
_WORKERS = int(os.environ.get('TEST_CONCURRENCY') or os.cpu_count() or 1)


def classes(wanted: Sequence[str]) -> dict[str, list[str]]:
    """Return the classes and files of gabbi that can run alone, by name, with the names of their tests."""
    seconds, os.environ['OS_TEST_TIMEOUT'] = os.environ.get('OS_TEST_TIMEOUT', ''), '0'
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        suite = unittest.TestLoader().discover(str(ROOT / 'manila_lite/tests'), top_level_dir=str(ROOT))
    os.environ['OS_TEST_TIMEOUT'] = seconds
    named = {_name(unit): order.names(unit) for unit in _units(suite)}
    return {name: tests for name, tests in sorted(named.items())
            if not wanted or any(re.search(regex, test) for regex in wanted for test in tests)}


def _units(suite: unittest.TestSuite) -> list[unittest.TestSuite]:
    if isinstance(suite, limits.Suite):
        return [unit for part in suite for unit in order.units(part)]
    return [unit for part in suite if isinstance(part, unittest.TestSuite) for unit in _units(part)]


def _name(unit: unittest.TestSuite) -> str:
    """Return the name of a class; of a file of gabbi the common begin of its requests' names."""
    if isinstance(unit, order.Class):
        return order.names(unit)[0].partition('(')[0].rpartition('.')[0]
    return os.path.commonprefix([name.rpartition('.')[0] for name in order.names(unit)])   # noqa: RUF071 - they are no paths


def run(name: str, tests: Sequence[str]) -> tuple[bytes, str]:
    """Run tests alone in a process; return their results and their standard error."""
    module = name.rpartition('.')[0] if 'test_gabbits.' in name else name
    with tempfile.NamedTemporaryFile('w') as chosen, tempfile.TemporaryFile() as results, \
            tempfile.TemporaryFile() as said:
        chosen.write('\n'.join(tests))
        chosen.flush()
        child = subprocess.Popen([sys.executable, '-m', 'stestr.subunit_runner.run', '--load-list', chosen.name, module],
                                 cwd=ROOT, stdin=subprocess.DEVNULL, stdout=results, stderr=said, start_new_session=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(limits.limit() * limits.BETWEEN or None)
        # Processes that it started are in its group, and end with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        results.seek(0)
        said.seek(0)
        return results.read(), said.read().decode(errors='replace')


def failed(results: bytes) -> bool:
    """Say whether a test failed, or none ran."""
    statuses = [test['status'] for test in tally.read(io.BytesIO(results))]
    return not statuses or bool(tally.FAILED & {*statuses})


def main(file: str, *wanted: str) -> int:
    chosen = classes(wanted)
    bad = 0
    with pathlib.Path(file).open('wb') as every, futures.ThreadPoolExecutor(_WORKERS) as workers:
        for name, (results, said) in zip(chosen, workers.map(run, chosen, chosen.values()), strict=True):
            every.write(results)
            if failed(results):
                bad += 1
                print(f'{said}fails alone: {name}', flush=True)
    print(f'{len(chosen)} classes, each alone: {bad} failed', flush=True)
    return 1 if bad or not chosen else 0


if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
