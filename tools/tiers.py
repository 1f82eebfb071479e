#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the default tier of tests, chosen tests, whole parts, or CI's slice of the rest: see tools/test, which calls this.

manila_lite/tests/parts.toml has the parts. stestr runs the tests; this says which, on what, and counts. What differs from run
to run (the server, the order, the portion of long tests) goes by the commit, so that a run can be had again.
"""

import argparse
import collections
import contextlib
import dataclasses
import dbm.dumb
import functools
import hashlib
import os
import pathlib
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import subunit
import testtools
from stestr.repository import util

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # this tree, whatever is installed
from manila_lite.tests import limits

ROOT = pathlib.Path(__file__).resolve().parents[1]
TESTS = ROOT / 'manila_lite' / 'tests'
PREFIX = 'manila_lite.tests.'
SERVERS = ('postgresql', 'mariadb')
#: What the processes of the last tests did and said; letters of it that are shown if one died; and of a failure at the end.
_PROGRESS, _TAIL, _REASON = ROOT / '.stestr' / 'progress', 10_000, 1_200
#: Modes of the published tests of which the default tier has a portion: one of so many classes.
MODES = ('dhss', 'nodhss')
_PUBLISHED = 32
#: Each class that is in no default tier has its turn in one of so many landings; .ci/turn has their number.
TURNS = 10
#: Seconds that a command has to end before it is killed.
_PATIENCE = 60.0
#: Seconds within which the commits of a landing are made.
_LANDING = 3 * 3600
#: The slice begins no class after this part of its minutes: the last ones need the rest.
_BEGINNING = 0.5
#: Seconds from the start after which it begins none, however long the default tier took: CI ends within 40 minutes.
_LAST_BEGINNING = 28 * 60


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the tests: see parts.toml."""

    name: str
    tests: tuple[str, ...] = ()
    server: str = ''
    commands: tuple[Sequence[str], ...] = ()
    touched: tuple[str, ...] = ()
    seconds: dict[str, int] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def _form(self) -> re.Pattern[str]:
        return re.compile('|'.join(f'(?:{form})' for form in self.tests) or '(?!)')

    def has(self, test: str) -> bool:
        """Say whether a test is one of these."""
        return self._form.match(test.removeprefix(PREFIX)) is not None


class Parts:
    """All parts, and the tests in each."""

    def __init__(self) -> None:
        table: dict[str, dict[str, Any]] = tomllib.loads((TESTS / 'parts.toml').read_text())
        rows = {
            name: Part(
                name,
                **{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()},
            )
            for name, row in table.items()
        }
        self.default, self.servers, self.sqlite = (
            rows.pop(name) for name in ('default', 'servers', 'sqlite')
        )
        self.rows = rows
        self._of: dict[str, Part] = {}

    def of(self, test: str) -> Part:
        """Return the part of a test on SQLite."""
        if test not in self._of:
            self._of[test] = self._found(test)
        return self._of[test]

    def _found(self, test: str) -> Part:
        return next((part for part in (self.default, *self.rows.values()) if part.has(test)), self.default)

    def tests(self, part: Part, names: Iterable[str]) -> list[str]:
        """Return those of the tests that are the part's."""
        if part.server:
            return [name for name in names if self.on_server(name)]
        return [name for name in names if self.of(name) is part]

    def on_server(self, test: str) -> bool:
        """Say whether the runs on servers have a test."""
        return test.startswith(f'{PREFIX}functional.') and not self.sqlite.has(test)

    def touched(self, paths: Collection[str]) -> list[Part]:
        """Return the parts that a change of these paths names."""
        return [
            part
            for part in self.rows.values()
            if any(path.startswith(part.touched) for path in paths if part.touched)
        ]


class Run:
    """A run of tests, step by step, and its results. ``until``: when no class begins any more (seconds since 1970), or None."""

    def __init__(self, until: float | None = None) -> None:
        self.until = until
        self.counts: collections.Counter[str] = collections.Counter()
        self._skips: collections.Counter[str] = collections.Counter()
        #: What failed, and the end of what it said.
        self.failed: dict[str, str] = {}
        self._late: set[str] = set()

    def tests(self, names: Sequence[str], server: str = '', done: pathlib.Path | None = None) -> None:
        """Run these tests with stestr, on SQLite or on a server with RabbitMQ. Files in ``done`` get those that passed."""
        where = f' [{server}]' if server else ''
        if not names:
            return
        if self.until and time.time() > self.until:
            self._skips[limits.NOT_REACHED + where] += len(names)
            self._late |= {group(name).removeprefix(PREFIX) + where for name in names}
            return
        say(f'{len(names)} tests{where}')
        with tempfile.TemporaryDirectory() as folder:
            chosen, progress = pathlib.Path(folder, 'tests'), done or _PROGRESS
            if not done:
                shutil.rmtree(progress, ignore_errors=True)
            progress.mkdir(exist_ok=True)
            chosen.write_text('\n'.join(names) + '\n')
            known = set(progress.iterdir())
            env = {limits.PROGRESS: str(progress), limits.UNTIL: str(self.until or '')}
            around = [
                sys.executable,
                '-m',
                'manila_lite.tests.services',
                '--database',
                server,
                '--transport',
                'rabbit',
                '--',
            ]
            before = _stream_number()
            status = call(
                *around if server else (),
                'stestr',
                'run',
                '--concurrency',
                str((os.cpu_count() or 1) + 2),
                '--load-list',
                str(chosen),
                **env,
            ).returncode
            found = results() if _stream_number() != before else []
            for file in {*progress.glob('*.begun')} - known:
                print(file.with_suffix('.said').read_text()[-_TAIL:])
                self.failed[f'a process of the tests ended before its last test: {file.stem}{where}'] = ''
        self._take(found, where, status)

    def _take(self, found: list[dict], where: str, status: int) -> None:
        bad = {
            f'{test["id"]}{where}': reason(test)
            for test in found
            if test['status'] in {'fail', 'uxsuccess', 'inprogress'}
        }
        # stestr takes a run of skips alone as failed.
        if not bad and (not found or (status and any(test['status'] != 'skip' for test in found))):
            bad = {f'the run itself{where}: {len(found)} tests, exit status {status}': ''}
        self.failed |= bad
        for test in found:
            if test['status'] == 'skip':
                why = (
                    test['details']['reason'].as_text().strip()
                    if 'reason' in test['details']
                    else 'no reason given'
                )
                self._skips[why + where] += 1
                if why == limits.NOT_REACHED:
                    self._late.add(group(test['id']).removeprefix(PREFIX) + where)
            elif test['status'] in {'success', 'xfail'}:
                self.counts['passed'] += 1

    def command(self, words: Sequence[str]) -> bool:
        """Run a command that counts as one test. Where the time is over it is ended, and was not reached.
        Return whether it passed.
        """
        line = shlex.join(words)
        say(line)
        with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL) as process:
            try:
                status = process.wait(self.until and max(0.0, self.until - time.time()))
            except subprocess.TimeoutExpired:
                _end(process)
                self._late.add(line)
                self._skips[limits.NOT_REACHED] += 1
                return False
        if status:
            self.failed[line] = ''
        else:
            self.counts['passed'] += 1
        return not status

    def close(self) -> int:
        """Print the results, and in the last line their numbers; return the exit status."""
        for why, number in sorted(self._skips.items()):
            print(f'skipped {number}: {why}')
        if self._late:
            print('not reached in time:', *sorted(self._late), sep='\n    ')
        for name, said in sorted(self.failed.items()):
            if said:
                print(f'{name} failed:\n{said}')
        for name in sorted(self.failed) or ([] if self.counts or self._skips else ['no test ran']):
            print(f'FAILED {name}')
        bad = len(self.failed) or int(not self.counts and not self._skips)
        print(f'{self.counts["passed"]} passed, {bad} failed, {self._skips.total()} skipped', flush=True)
        return 1 if bad else 0


def _end(process: subprocess.Popen) -> None:
    """End a command, which may have servers to end first."""
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


def say(words: str) -> None:
    """Print a line about what begins."""
    print(f'tools/test: {words}', flush=True)


def call(*words: str, capture: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command. ``capture``: its output is not shown."""
    out = subprocess.PIPE if capture else None
    return subprocess.run(
        words, cwd=ROOT, env=os.environ | env, stdin=subprocess.DEVNULL, stdout=out, text=True, check=False
    )


def output(*words: str) -> str:
    """Return the output of a command; empty if it fails."""
    done = call(*words, capture=True)
    return '' if done.returncode else done.stdout


def commits() -> int:
    """Return how many commits the tree has; 0 if it is no clone."""
    return int(output('git', 'rev-list', '--count', 'HEAD') or 0)


def listed(modules: Iterable[str] = (), forms: Iterable[str] = ()) -> list[str]:
    """Return the names of all tests, or of those that regular expressions find. If a module cannot be read, end the run."""
    done = call('stestr', 'list', *forms, capture=True, **{limits.MODULES: ' '.join(modules)})
    if done.returncode:
        print(
            done.stdout, 'FAILED the list of all tests', '0 passed, 1 failed, 0 skipped', sep='\n', flush=True
        )
        sys.exit(1)
    return [line for line in done.stdout.splitlines() if line.startswith(PREFIX)]


def results() -> list[dict]:
    """Return the tests of the last run of stestr, as testtools' dictionaries; one that never ended is 'inprogress'."""
    tests: list[dict] = []
    result = testtools.StreamToDict(tests.append)
    result.startTestRun()
    last = util.get_repo_open(repo_url=str(ROOT)).get_latest_run().get_subunit_stream()
    subunit.ByteStreamToStreamResult(last, non_subunit_name='stdout').run(result)
    result.stopTestRun()
    # Status 'exists' only announces a test. Statuses without a test id are attachments.
    return [test for test in tests if test['id'] and test['status'] not in ('exists', 'unknown')]


def reason(test: dict) -> str:
    """Return the end of what a failed test said, without the log."""
    said = [text for name, text in sorted(test['details'].items()) if name.startswith('traceback')]
    return '\n'.join(text.as_text().strip() for text in said)[-_REASON:]


def _stream_number() -> str:
    """Return the number of the next run of stestr; if it does not grow, nothing was recorded and "last" is an older run."""
    with contextlib.suppress(FileNotFoundError):
        return (ROOT / '.stestr' / 'next-stream').read_text()
    return ''


def tell_seconds(part: Part, names: Iterable[str], repository: pathlib.Path) -> None:
    """Tell stestr the seconds of the longest classes, if it has run nothing yet. Of the others it counts the classes only."""
    one_of_each = {group(name): name for name in names}
    with dbm.dumb.open(str(repository / 'times.dbm'), 'c') as times:
        if not times:
            for name, seconds in part.seconds.items():
                if test := one_of_each.get(PREFIX + name):
                    times[test] = str(seconds)


def default(run: Run, parts: Parts) -> None:
    """Run the default tier."""
    turn = commits()
    names = listed()
    with tempfile.TemporaryDirectory() as statements:
        os.environ['MANILA_LITE_TEST_STATEMENTS'] = statements
        tell_seconds(parts.default, names, ROOT / '.stestr')
        run.tests(parts.tests(parts.default, names))
        run.tests([name for name in names if parts.servers.has(name)], SERVERS[turn % len(SERVERS)])
        del os.environ['MANILA_LITE_TEST_STATEMENTS']
    run.command(
        [
            'python',
            '-m',
            'manila_lite.tests.conformance',
            MODES[turn % len(MODES)],
            f'--portion={turn}/{_PUBLISHED}',
        ]
    )


def chosen(run: Run, words: Sequence[str], servers: Sequence[str]) -> None:
    """Run the tests of files and directories, and those whose names match a regular expression. Only these files are loaded."""
    modules = [module for word in words for module in modules_of(word)]
    forms = [word for word in words if not modules_of(word)]
    names = (listed(modules) if modules else []) + (listed(forms=forms) if forms else [])
    for server in servers or ['']:
        run.tests(list(dict.fromkeys(names)), server)


def modules_of(word: str) -> list[str]:
    """Return the test modules of a path, which may begin below manila_lite/tests; none if it is no path."""
    for top in (ROOT, TESTS):
        path = (top / word).resolve()
        if path.is_relative_to(TESTS) and path.exists():
            files = sorted(path.rglob('test_*.py')) if path.is_dir() else [path]
            return ['.'.join(file.relative_to(ROOT).with_suffix('').parts) for file in files]
    return []


def full(run: Run, parts: Parts, words: Sequence[str]) -> None:
    """Run whole parts, or all of them and the default tier. What passed for this commit is not run again."""
    wanted = [parts.rows[word] for word in words] or [parts.default, *parts.rows.values()]
    clean = not output('git', 'status', '--porcelain')
    state = (
        ROOT
        / '.stestr'
        / 'full'
        / (output('git', 'rev-parse', 'HEAD').strip() if clean else secrets.token_hex())
    )
    names = listed()
    for part in wanted:
        place = state / part.name
        place.mkdir(parents=True, exist_ok=True)
        done = {
            line
            for file in place.iterdir()
            if file.suffix != '.said'
            for line in file.read_text().splitlines()
        }
        run.counts['passed'] += len(done)
        run.tests([name for name in parts.tests(part, names) if name not in done], part.server, done=place)
        for command in part.commands:
            if shlex.join(command) not in done and run.command(command):
                with (place / 'commands').open('a') as file:
                    file.write(f'{shlex.join(command)}\n')


def slice_of_rest(run: Run, parts: Parts) -> None:
    """Run what has its turn in this landing, and then the parts that the change touches."""
    turn = int((ROOT / '.ci' / 'turn').read_text())
    touched = parts.touched(changed())
    say(
        f'turn {turn} (.ci/turn); the change touches: {", ".join(part.name for part in touched) or "no part"}'
    )
    names = listed()
    ran = set()
    ordered = in_order_of([*parts.rows.values()], turn)
    for of_turn, rows in ((True, ordered), (False, touched)):
        for part in rows:
            tests = [
                name for name in parts.tests(part, names) if not of_turn or mine(part, group(name), turn)
            ]
            run.tests([name for name in tests if (part.server, name) not in ran], part.server)
            ran |= {(part.server, name) for name in tests}
    for part in ordered:
        for command in part.commands:
            if mine(part, shlex.join(command), turn):
                run.command(command)


def group(test: str) -> str:
    """Return the class of a test."""
    return test.partition('(')[0].rpartition('.')[0]


def in_order_of(rows: Sequence[Part], turn: int) -> list[Part]:
    """Return the parts in the order of a landing: another one is the first when the same classes have their turn again.

    The clock may end a slice before its last parts. In TURNS landings for each part, each class is once in the first part.
    """
    first = turn // TURNS % len(rows)
    return [*rows[first:], *rows[:first]]


def mine(part: Part, name: str, turn: int) -> bool:
    """Say whether it is the turn of a class, or a command, of a part."""
    return hashlib.sha256(f'{part.server} {name}'.encode()).digest()[0] % TURNS == turn % TURNS


def changed() -> list[str]:
    """Return the paths that the commits of this landing change: those of the last hours before the newest one."""
    newest = int(output('git', 'log', '-1', '--format=%ct') or 0)
    base = output('git', 'rev-list', '-1', f'--before={newest - _LANDING}', 'HEAD').strip()
    return output('git', 'diff', '--name-only', base, 'HEAD').split('\n') if base else []


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='tools/test', description='See the comment at the top of tools/test.'
    )
    parser.add_argument('--on', action='append', choices=SERVERS, default=[])
    parser.add_argument('--full', action='store_true')
    parser.add_argument('--hours', type=float)
    parser.add_argument('--slice', type=float, metavar='MINUTES', default=0.0)
    parser.add_argument('names', nargs='*')
    return parser.parse_args()


def main() -> int:
    begun = time.time()
    args = arguments()
    parts = Parts()
    run = Run(time.time() + args.hours * 3600 if args.hours else None)
    os.environ.setdefault('TEST_ORDER_SEED', output('git', 'rev-parse', '--short', 'HEAD').strip())
    os.environ.setdefault('MANILA_LITE_TEST_TURN', str(commits()))
    say(f'the order is that of TEST_ORDER_SEED={os.environ["TEST_ORDER_SEED"]}')
    if args.full:
        full(run, parts, args.names)
    elif args.names:
        chosen(run, args.names, args.on)
    else:
        default(run, parts)
    if args.slice and not run.failed:
        run.until = min(time.time() + args.slice * 60 * _BEGINNING, begun + _LAST_BEGINNING)
        slice_of_rest(run, parts)
    return run.close()


if __name__ == '__main__':
    sys.exit(main())
