#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse a test that sleeps, or that says for itself how long it waits: both are too short on a busy machine.

Usage: tools/check_sleeps.py [ROOT]. Looks in manila_lite/tests.

Tests wait for a condition, with ``until`` of manila_lite/tests/waiting.py. Where ``time.sleep(...)`` is no wait for a
condition (work that is slow on purpose, or a process that must stay idle), the line says so: ``# sleeps: reason``.

The limit of all waits is ``waiting.LIMIT``. A number of five seconds or more as ``timeout`` (also ``patience`` or
``seconds``) of a call, or as what a thread, process or event is waited for, is a limit of its own. Where it is none (a
call of the product that has this parameter), the line says so: ``# limit: reason``. Shorter ones are tries, or waits for
what must not come.

Reasons are on the same line, or alone on the one before.
"""

import ast
import pathlib
import re
from collections.abc import Iterator

import checked

#: The module that polls for all tests.
WAITING = 'manila_lite/tests/waiting.py'
#: Programs that have not this package, and the simulation, whose seconds cost nothing.
ELSEWHERE = (
    'conformance',
    'nova',
    'packages',
    'simulation',
    'nfs_client.py',
    'nfs_writer.py',
    'nfs4_owner.py',
)
REASON = '# {}: \\S.*\\S'
_ADVICE = {
    'sleeps': 'sleeps; wait for a condition, with waiting.until',
    'limit': 'has a limit of its own; use waiting.LIMIT',
}
#: Parameters that are limits.
_PARAMETERS = ('timeout', 'patience', 'seconds')
#: Those whose defaults are limits, too.
_DEFAULTS = ('timeout', 'patience')
#: Methods whose only argument is a limit.
_WAITS = ('wait', 'join', 'result', 'exception', 'settimeout')
#: Calls whose parameters of these names are no waits.
_OTHERS = ('timedelta', 'note')
#: Functions that wait with the one limit, and the number of their arguments.
_UNTIL = {'until': 2, 'eventually': 2, 'wait': 3}
#: Seconds from which on a number is a limit.
LEAST = 5


def sleeps(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each call of time's sleep, under any name."""
    modules, names = {'time'}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(one.asname for one in node.names if one.name == 'time' and one.asname)
        elif isinstance(node, ast.ImportFrom) and node.module == 'time':
            names.update(one.asname or one.name for one in node.names if one.name == 'sleep')
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if (
            isinstance(called, ast.Attribute)
            and called.attr == 'sleep'
            and isinstance(called.value, ast.Name)
        ):
            if called.value.id in modules:
                yield node.lineno
        elif isinstance(called, ast.Name) and called.id in names:
            yield node.lineno


def limits(tree: ast.AST) -> Iterator[int]:
    """Yield the line of each limit that a call or a parameter's default has."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (value.lineno for value in _limits_of(node) if _is_long(value))
        elif isinstance(node, ast.FunctionDef):
            named = zip(
                reversed([*node.args.posonlyargs, *node.args.args]),
                reversed(node.args.defaults),
                strict=False,
            )
            named = [*named, *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
            yield from (value.lineno for name, value in named if name.arg in _DEFAULTS and _is_long(value))
        elif (
            isinstance(node, ast.BinOp)
            and ast.unparse(node.left) == 'time.monotonic()'
            and _is_long(node.right)
        ):
            yield node.lineno


def _limits_of(call: ast.Call) -> Iterator[ast.AST]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, 'id', '')
    if name not in _OTHERS:
        yield from (word.value for word in call.keywords if word.arg in _PARAMETERS)
    if name in _WAITS and len(call.args) == 1:
        yield from call.args
    yield from call.args[_UNTIL.get(name, len(call.args)) :]


def _is_long(value: ast.AST | None) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) in (int, float) and value.value >= LEAST


def excused(lines: list[str], number: int, kind: str) -> bool:
    """Say whether a line has a reason, or the line before is nothing but a reason."""
    before = lines[number - 2].strip() if number > 1 else ''
    reason = re.compile(REASON.format(kind))
    return bool(reason.search(lines[number - 1]) or reason.fullmatch(before))


def main(root: pathlib.Path) -> Iterator[str]:
    """Yield the sleeps and limits of all tests that have no reason."""
    tests = root / 'manila_lite/tests'
    for path in sorted({*tests.rglob('*.py')} - {root / WAITING}):
        text = path.read_text()
        tree, lines = ast.parse(text), text.splitlines()
        found = {
            'sleeps': sleeps(tree),
            'limit': () if path.relative_to(tests).parts[0] in ELSEWHERE else limits(tree),
        }
        for kind, numbers in found.items():
            for number in numbers:
                if not excused(lines, number, kind):
                    yield f'{path}:{number}: {_ADVICE[kind]}, or say why: # {kind}: reason'


if __name__ == '__main__':
    checked.run(main)
