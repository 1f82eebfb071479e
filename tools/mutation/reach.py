# SPDX-License-Identifier: Apache-2.0
"""Tests that reach a place of the core. A place is a line's text and its function, so that it stays when others change."""

import ast
import collections
import dbm.dumb
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator

from mutation import targets

#: Tests for faults: no crash matrix, no virtual machines, no tests of the tools, no quickstart (minutes each).
JUDGES = (r'^manila_lite\.tests\.(unit|functional\.test_(?!quickstart)|security'
          r'|contract\.test_(policies|policy_record|versions|states|record|contract|openapi))')

#: Requests of a gabbi file stay together, as tests of a class do. If names of files begin alike, the longest match counts.
_GABBIS = pathlib.Path(__file__).resolve().parents[2] / 'manila_lite/tests/functional/gabbits'
_GABBI = re.compile('(.*\\.test_gabbits\\.(?:{}))_.*\\.test_request$'.format('|'.join(
    sorted((file.stem.replace('-', '_') for file in _GABBIS.glob('*.yaml')), key=len, reverse=True))))


def group(test: str) -> str:
    """Return the class, or gabbi file, of a test."""
    found = _GABBI.match(test)
    return found[1] if found else test.rpartition('.')[0]


def record(root: pathlib.Path, store: pathlib.Path, concurrency: int, only: str = JUDGES) -> int:
    """Run the tests for faults once, and record the lines that each reaches; or only tests that match ``only``, in
    addition to earlier records. Return stestr's exit code.
    """
    data = store / 'coverage'
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    environment = os.environ | {
        'PYTHONPATH': os.pathsep.join([str(root), str(root / 'tools/mutation/hooks')]),
        'MANILA_LITE_REACH': str(data), 'MANILA_LITE_REACHED': ':'.join(str(root / each) for each in targets.FILES)}
    repository = store / 'stestr'
    if not repository.exists():
        repository.mkdir()
        subprocess.run(['stestr', '--repo-url', str(repository), 'init'], cwd=root, check=True)
    done = subprocess.run(['stestr', '--repo-url', str(repository), 'run', '--concurrency', str(concurrency), only],
                          cwd=root, env=environment)
    _keep(store / 'reach.json', _read(root, data), _seconds(repository), more=only != JUDGES)
    return done.returncode


def _keep(file: pathlib.Path, places: dict[str, set[str]], seconds: dict[str, float], *, more: bool) -> None:
    if more and file.exists():
        known = json.loads(file.read_text())
        seconds = known['seconds'] | seconds
        for place, tests in known['places'].items():
            places[place] = places.get(place, set()) | {*tests}
    file.write_text(json.dumps({'places': {place: sorted(tests) for place, tests in places.items()}, 'seconds': seconds}))


def _read(root: pathlib.Path, data: pathlib.Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = collections.defaultdict(set)
    places: dict[str, dict[int, str]] = {}
    for file in sorted(data.glob('data.*')):
        with sqlite3.connect(file) as base:
            rows = base.execute('select file.path, context.context, line_bits.numbits from line_bits'
                                ' join file on file.id = line_bits.file_id join context on context.id = line_bits.context_id')
            for path, test, bits in rows:
                known = places.setdefault(path, by_line(pathlib.Path(path), root))
                for line in _numbers(bits):
                    if test and line in known:
                        found[known[line]].add(test)
    return found


def _numbers(bits: bytes) -> Iterator[int]:
    return (byte * 8 + bit for byte, value in enumerate(bits) for bit in range(8) if value & 1 << bit)


def by_line(path: pathlib.Path, root: pathlib.Path) -> dict[int, str]:
    """Return the place of each line of a file."""
    source = path.read_text()
    names: dict[int, str] = {}

    def walk(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f'{name}.{child.name}'.strip('.')
                names.update(dict.fromkeys(range(child.lineno, (child.end_lineno or child.lineno) + 1), inner))
            walk(child, inner)
    walk(ast.parse(source), '')
    return {number: f'{path.relative_to(root)} {names.get(number, "")} {line.strip()}'
            for number, line in enumerate(source.splitlines(), 1)}


def _seconds(repository: pathlib.Path) -> dict[str, float]:
    times = next(repository.glob('**/times.dbm*'), None)
    if times is None:
        return {}
    with dbm.dumb.open(str(times.with_name('times.dbm')), 'r') as known:
        return {name.decode(): float(known[name]) for name in known}


class Reach:
    """The record."""

    def __init__(self, root: pathlib.Path, store: pathlib.Path) -> None:
        kept = json.loads((store / 'reach.json').read_text())
        self._root = root
        self._places: dict[str, list[str]] = kept['places']
        self.seconds: dict[str, float] = kept['seconds']
        self._lines: dict[str, dict[int, str]] = {}
        self._files: collections.Counter[str] = collections.Counter()
        for test, seconds in self.seconds.items():
            self._files[group(test) if _GABBI.match(test) else test] += seconds
        self._by_way: dict[tuple[str, str], dict[str, frozenset[str]]] = {}

    def tests(self, path: str, lines: Iterable[int], name: str) -> set[str]:
        """Return the tests, and classes with their set-up, that reach one of these lines.

        Lines that run at import, such as defaults of parameters, belong to no test: then those that reach the function
        ``name``; or lines of the file with ``name`` in them, or any of the file.
        """
        known = self._lines.get(path) or self._lines.setdefault(path, by_line(self._root / path, self._root))
        wanted = {known[line] for line in lines if line in known}
        reached = {test for place in wanted for test in self._places.get(place, ())}
        if reached:
            return reached
        if any(place.startswith(f'{path} {name} def ') for place in wanted):
            return {*self._ways(path, name)}
        if not all(place.startswith(f'{path}  ') for place in wanted):
            return set()
        of_file = {place: tests for place, tests in self._places.items() if place.startswith(f'{path} ')}
        users = {test for place, tests in of_file.items() if name and name in place for test in tests}
        return users or {test for tests in of_file.values() for test in tests}

    def is_in_table(self, path: str, line: int) -> bool:
        """Say whether the line is in no function, and so runs at import."""
        known = self._lines.get(path) or self._lines.setdefault(path, by_line(self._root / path, self._root))
        return known.get(line, '').startswith(f'{path}  ')

    def price(self, test: str) -> float:
        """Return the seconds of the test, or of all requests of its gabbi file; a guess for a whole class."""
        return self._files[group(test) if _GABBI.match(test) else test] or 5.0

    def way(self, test: str, path: str, name: str) -> frozenset[str]:
        """Return the places of the function ``name`` that the test reaches."""
        return self._ways(path, name).get(test, frozenset())

    def _ways(self, path: str, name: str) -> dict[str, frozenset[str]]:
        if (path, name) not in self._by_way:
            found: dict[str, set[str]] = collections.defaultdict(set)
            for place, tests in self._places.items():
                if name and place.startswith(f'{path} {name} '):
                    for test in tests:
                        found[test].add(place)
            self._by_way[path, name] = {test: frozenset(places) for test, places in found.items()}
        return self._by_way[path, name]
