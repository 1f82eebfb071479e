#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""List the guards of manila_lite/actions/ that refuse in no test: tools/refusals.py [--words] DIRECTORY

A guard is an error that is raised, or a call that does nothing but refuse. DIRECTORY has the notes of tests that ran with
MANILA_LITE_TEST_REFUSALS=DIRECTORY (manila_lite/tests/refusals.py). The default tier of tools/test ends with it.
--words also lists the guards whose status and words no test checks. Exit code 1 if a guard refused in no test.
"""

import argparse
import ast
import dataclasses
import functools
import json
import pathlib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
ACTIONS = ROOT / 'manila_lite' / 'actions'
GABBITS = ROOT / 'manila_lite' / 'tests' / 'functional' / 'gabbits'

#: Calls that do nothing but refuse, if their result is not used.
REFUSING = re.compile(r'(.*\.)?_?(must|refuse|may|check)(_\w+)?|transitions\.begin')
#: Shorter texts are in many messages, and identify none.
SHORT = 8

#: Guards that no request reaches, as FILE:FUNCTION: STATEMENT, each with the reason.
EXPLAINED: dict[str, str] = {
    'access.py:deny_all: resource_locks.check_deny_all(conn, ctx, share.id)': 'who takes a share over has its locks lifted '
    'before',
    "resource_locks.py:check_deny_all: _must_lift(ctx, access_id, locks, 'be denied')": 'as the one before, which '
    'alone asks for it',
    'share_network_subnets.py:_reserve: raise _Taken': 'no refusal: the request tries other addresses',
    'migration.py:task_state: raise errors.Invalid(f"task_state: {value!r} is not valid; it must be null or one of '
    "{', '.join(k...": "the contract has all values, and refuses others before",
    "shares.py:delete: raise errors.WrongState(f'Share {share_id} was restored.')": 'no request asks for that, but '
    'scheduler/expiry.py, which is told',
}


@dataclasses.dataclass(frozen=True)
class Guard:
    """A statement that refuses. ``name`` stays the same when lines move."""

    file: str
    first: int
    last: int
    name: str

    def __str__(self) -> str:
        return f'manila_lite/actions/{self.file}:{self.first}: {self.name.partition(": ")[2]}'


def guards() -> Iterator[Guard]:
    """Yield all guards, by file and line."""
    for path in sorted(ACTIONS.glob('*.py')):
        for function in _functions(ast.parse(path.read_text())):
            for statement in _own(function):
                if what := _refusal(statement):
                    yield Guard(path.name, statement.lineno, statement.end_lineno or statement.lineno,
                                f'{path.name}:{function.name}: {what}')


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _own(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Yield the statements of a function, except those of inner functions."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            yield node
        if not isinstance(node, ast.FunctionDef):
            todo = [*ast.iter_child_nodes(node), *todo]


def _refusal(statement: ast.stmt) -> str:
    """Return the statement's text, if it refuses: 'raise' alone, which passes an error on, does not."""
    if isinstance(statement, ast.Raise) and statement.exc:
        return _short(f'raise {ast.unparse(statement.exc)}')
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = ast.unparse(statement.value)
        if REFUSING.fullmatch(call.partition('(')[0]):
            return _short(call)
    return ''


def _short(text: str) -> str:
    return text if len(text) < 100 else f'{text[:97]}...'


def notes(folder: pathlib.Path) -> Iterator[dict]:
    """Yield the notes."""
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            yield json.loads(line)


# Whether a test checks the reason of its refusal -------------------------------------------------------

def knows(note: dict) -> bool:
    """Say whether the test compares the status, and words of the message or its code."""
    *_, module, group, name = ['', '', '', *note['test'].partition('(')[0].split('.')]
    if module == 'test_gabbits':
        return _gabbi_knows(note, group)
    path = ROOT.joinpath(*note['test'].partition('(')[0].split('.')[:-2]).with_suffix('.py')
    return path.exists() and _python_knows(note, path, name)


def _gabbi_knows(note: dict, name: str) -> bool:
    request = _requests().get(name, {})
    paths = request.get('response_json_paths') or {}
    strings = request.get('response_strings') or ()
    said = [str(value) for value in (*paths.values(), *strings)]
    return str(request.get('status')) == str(note['status']) and any(_is_said(text, note) for text in said)


@functools.cache
def _requests() -> dict[str, dict]:
    """Return all requests in gabbi files, by their names in a run."""
    requests = {}
    for path in GABBITS.glob('*.yaml'):
        for request in yaml.safe_load(path.read_text())['tests']:
            requests[f'{path.stem}_{request["name"]}'.lower().replace(' ', '_')] = request
    return requests


def _python_knows(note: dict, path: pathlib.Path, name: str) -> bool:
    numbers, texts = _constants(path, name)
    return note['status'] in numbers and any(_is_said(text, note) for text in texts)


@functools.cache
def _constants(path: pathlib.Path, name: str) -> tuple[set[int], set[str]]:
    """Return numbers and texts in a test, in the methods that it calls, and in the tables of its module that it names."""
    tree = ast.parse(path.read_text())
    test: list[ast.AST] = [node for node in _functions(tree) if node.name == name]
    called = {node.attr for part in test for node in ast.walk(part) if isinstance(node, ast.Attribute)}
    test += [node for node in _functions(tree) if node.name in called]
    used = {node.id for part in test for node in ast.walk(part) if isinstance(node, ast.Name)}
    tables = [node for node in tree.body if isinstance(node, ast.Assign)
              and used & {target.id for target in node.targets if isinstance(target, ast.Name)}]
    values = [node.value for part in (*test, *tables) for node in ast.walk(part) if isinstance(node, ast.Constant)]
    return {value for value in values if isinstance(value, int)}, {value for value in values if isinstance(value, str)}


def _is_said(text: str, note: dict) -> bool:
    """Say whether the text is the code, or a part of the message, or a pattern of one."""
    text = text.strip('/')
    return text == note['code'] or (len(text) >= SHORT and (text in note['message'] or _matches(text, note['message'])))


def _matches(pattern: str, message: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', FutureWarning)      # many texts of tests are no patterns
            match = re.search(pattern, message)
    except re.error:
        return False
    return bool(match and len(match[0]) >= SHORT and ' ' in match[0])


# The report ---------------------------------------------------------------------------------------------

def sort(every: Iterable[Guard], noted: Iterable[dict]) -> tuple[list[Guard], list[Guard], list[Guard]]:
    """Return three lists of guards: those that no test reached and nothing explains; those reached only by tests that
    do not check status and words; and those that are explained, though a test reached them.
    """
    by_file: dict[str, list[dict]] = {}
    for note in noted:
        by_file.setdefault(note['file'], []).append(note)
    silent, dumb, wrong = [], [], []
    for guard in every:
        reached = [note for note in by_file.get(guard.file, ()) if guard.first <= note['line'] <= guard.last]
        if not reached and guard.name not in EXPLAINED:
            silent.append(guard)
        elif reached and guard.name in EXPLAINED:
            wrong.append(guard)
        elif reached and not any(map(knows, reached)):
            dumb.append(guard)
    return silent, dumb, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--words', action='store_true')
    parser.add_argument('folder', type=pathlib.Path, metavar='DIRECTORY')
    asked = parser.parse_args()
    if not asked.folder.is_dir():
        parser.error(f'{asked.folder} is not a directory of notes: see tools/refusals.py --help')
    everything = list(guards())
    silent, dumb, wrong = sort(everything, notes(asked.folder))
    for guard in silent:
        print(f'{guard} - no test')
    for guard in wrong:
        print(f'{guard} - reached, so take it out of EXPLAINED')
    for guard in dumb if asked.words else ():
        print(f'{guard} - no test names status and words')
    print(f'{len(silent)} of {len(everything)} guards of actions/ have no refusal in a test')
    return 1 if silent else 0


if __name__ == '__main__':
    sys.exit(main())
