# SPDX-License-Identifier: Apache-2.0
"""Test faults in a copy of the tree, one at a time, in a process that stops at the first failure."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence

from mutation import choice
from mutation.mutants import Mutant
from mutation.reach import Reach, group

#: A module that imports most libraries of tests.
_MOST_LIBRARIES = 'manila_lite.tests.functional.test_gabbits'
KILLED, SURVIVED, UNREACHED, SLOW, NOTHING = 'killed', 'survived', 'unreached', 'too slow', 'no fault'


@dataclasses.dataclass
class Verdict:
    """The result of a fault: the first test that noticed it, or how many did not."""

    outcome: str
    by: str


class Court:
    """A copy of the tree, in which one fault is tested after the other."""

    def __init__(self, root: pathlib.Path, folder: pathlib.Path, reach: Reach, python: str) -> None:
        self._root, self._tree, self._reach, self._python = root, folder, reach, python
        #: Whether a test passes without any fault, by name: tests that fail are not used.
        self._sound: dict[str, bool] = {}
        self._forking: subprocess.Popen[str] | None = None
        shutil.rmtree(folder, ignore_errors=True)
        names = subprocess.run(['git', 'ls-files', '-z'], cwd=root, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split('\0')):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target)
        for compiled in (root / 'manila_lite').glob('**/__pycache__'):
            shutil.copytree(compiled, folder / compiled.relative_to(root))
        subprocess.run([python, '-m', 'compileall', '-q', 'manila_lite'], cwd=folder, check=True)

    def judge(self, mutant: Mutant, most: int, seconds: float, by: Sequence[str] = ()) -> Verdict:
        """Return the verdict on the fault by ``most`` tests, about ``seconds`` of work, or by these classes and modules."""
        code = mutant.code(self._root)
        if code is None:
            return Verdict(NOTHING, '')
        chosen = by or choice.judges(mutant, self._reach, most, seconds)
        tests = [test for test in chosen if self._sound.get(test, True)]
        if not tests:
            return Verdict(UNREACHED, '')
        file = self._tree / mutant.path
        before, times = file.read_text(), file.stat()
        file.write_text(code)
        try:
            failed = self._run(tests, seconds * 4 + 60, whole=bool(by))
        finally:
            file.write_text(before)
            # Compiled files have this time.
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        if failed == '':
            return Verdict(SURVIVED, str(len(tests)))
        return self._confirmed(mutant, tests, failed, most, seconds, by)

    def _confirmed(self, mutant: Mutant, tests: list[str], failed: str, most: int, seconds: float,
                   by: Sequence[str]) -> Verdict:
        """Return the verdict, by the other tests if the test fails without the fault too."""
        judging = next((test for test in tests if failed == test or failed.startswith(f'{test}.')
                        or group(failed) == group(test)), None)
        if judging is not None and judging not in self._sound:
            self._sound[judging] = self._run([judging], seconds * 4 + 60, whole=bool(by)) == ''
            if not self._sound[judging]:
                return self.judge(mutant, most, seconds, by)
        return Verdict(SLOW if failed == SLOW else KILLED, failed)

    def _run(self, tests: list[str], limit: float, *, whole: bool) -> str:
        """Return the name of the first test that failed, or '' if all passed; ``whole``: they are classes and modules."""
        with tempfile.NamedTemporaryFile('w', suffix='.ids') as ids, tempfile.NamedTemporaryFile('r') as said:
            ids.write('\n'.join(self._wanted(tests)))
            ids.flush()
            what = tests if whole else ['--load-list', ids.name, *self._modules(tests)]
            status = self._ask({'words': ['-f', *what], 'said': said.name, 'limit': limit})
            if status == 'slow':
                return SLOW
            return '' if status == '0' else _first_failure(said.read())

    def _modules(self, tests: list[str]) -> list[str]:
        """Return the modules of these tests, the quickest first: the first few notice most faults."""
        seconds: dict[str, float] = {}
        for test in tests:
            module = _module(self._tree, test)
            seconds[module] = seconds.get(module, 0.0) + self._reach.seconds.get(test, 2.0)
        return sorted(seconds, key=lambda module: seconds[module])

    def _ask(self, run: dict) -> str:
        """Let the forking process run tests; return its answer."""
        if self._forking is None or self._forking.poll() is not None:
            environment = {name: value for name, value in os.environ.items() if name not in ('CI', 'PYTHONDONTWRITEBYTECODE')}
            environment |= {'PYTHONPATH': str(self._tree), 'PYTHONDONTWRITEBYTECODE': '1', 'OS_TEST_TIMEOUT': '120'}
            self._forking = subprocess.Popen(
                [self._python, str(self._root / 'tools/mutation/hooks/forking.py'), _MOST_LIBRARIES], cwd=self._tree,
                env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self._forking.stdin is not None
        assert self._forking.stdout is not None
        self._forking.stdin.write(json.dumps(run) + '\n')
        return self._forking.stdout.readline().strip()

    def _wanted(self, tests: list[str]) -> set[str]:
        """Return the ids to load: for a request of gabbi those of its file, for a class or module all its tests."""
        groups = {group(test) for test in tests if '.test_gabbits.' in test}
        whole = tuple(f'{test}.' for test in tests if test not in self._reach.seconds)
        return {*tests} | {name for name in self._reach.seconds if name.startswith(whole) or group(name) in groups}


def _module(tree: pathlib.Path, test: str) -> str:
    """Return the module of a test, class or gabbi request."""
    parts = test.split('.')
    while len(parts) > 1 and not (tree / '/'.join(parts)).with_suffix('.py').exists():
        parts.pop()
    return '.'.join(parts)


def _first_failure(text: str) -> str:
    failure = re.search(r'^(?:ERROR|FAIL): (\S+.*)$', text, re.MULTILINE)
    return failure[1] if failure else 'the tests could not start'
