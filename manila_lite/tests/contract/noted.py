# SPDX-License-Identifier: Apache-2.0
"""Notes of a test that runs as tools/test runs it, in a process of its own."""

import json
import pathlib
import subprocess
import sys

import fixtures

from manila_lite.tests import limits

_ROOT = pathlib.Path(__file__).resolve().parents[3]


def notes(case, variable, name):
    """Run the test of that name; return its notes. ``variable``: the environment's name for their folder."""
    folder = pathlib.Path(case.useFixture(fixtures.TempDir()).path)
    chosen = folder / 'chosen'
    chosen.write_text(name)
    left = folder / 'notes'
    left.mkdir()
    case.useFixture(fixtures.EnvironmentVariable(variable, str(left)))
    case.useFixture(fixtures.EnvironmentVariable(limits.MODULES, name.rsplit('.', 2)[0]))
    subprocess.run(
        [
            sys.executable,
            '-m',
            'stestr.subunit_runner.run',
            'discover',
            '-t',
            './',
            './manila_lite/tests',
            '--load-list',
            chosen,
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        cwd=_ROOT,
    )
    return [json.loads(line) for path in left.iterdir() for line in path.read_text().splitlines()]
