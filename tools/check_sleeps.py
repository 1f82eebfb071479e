#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse a test that sleeps: it is too short on a busy machine, and too long on all others.

Usage: tools/check_sleeps.py [ROOT]. Looks for ``time.sleep(...)`` in manila_lite/tests. Tests wait for a condition,
with ``until`` of manila_lite/tests/waiting.py. Where a sleep is no wait for a condition (work that is slow on purpose,
or a process that must stay idle), the line says so: ``# sleeps: reason``, on the same line or alone on the one before.
"""

import ast
import pathlib
import re
import sys
from collections.abc import Iterator

#: The module that polls for all tests.
WAITING = 'manila_lite/tests/waiting.py'
REASON = re.compile(r'# sleeps: \S.*\S')


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
        if isinstance(called, ast.Attribute) and called.attr == 'sleep' and isinstance(called.value, ast.Name):
            if called.value.id in modules:
                yield node.lineno
        elif isinstance(called, ast.Name) and called.id in names:
            yield node.lineno


def excused(lines: list[str], number: int) -> bool:
    """Say whether a line has a reason, or the line before is nothing but a reason."""
    before = lines[number - 2].strip() if number > 1 else ''
    return bool(REASON.search(lines[number - 1]) or REASON.fullmatch(before))


def main(root: pathlib.Path) -> int:
    bad = 0
    for path in sorted((root / 'manila_lite/tests').rglob('*.py')):
        if path == root / WAITING:
            continue
        text = path.read_text()
        for number in sleeps(ast.parse(text)):
            if not excused(text.splitlines(), number):
                print(f'{path}:{number}: sleeps; wait for a condition, with waiting.until, or say why: # sleeps: reason')
                bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])))
