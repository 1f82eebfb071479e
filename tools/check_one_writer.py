#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse any write of a status column outside the one writer, manila_lite/db/core/transitions.py.

Usage: tools/check_one_writer.py [ROOT]. Looks at all forms of a write: ``.values(status=...)``,
``.values({'status': ...})``, a dictionary given to ``execute``, an attribute of a row, and SQL text.
"""

import ast
import pathlib
import re
from collections.abc import Iterator

import checked

COLUMNS = {'status', 'state', 'task_state', 'access_rules_status'}
# Columns that a file may write. Operations own their own state; migrations build the columns.
WRITERS = {
    'db/core/transitions.py': COLUMNS,
    'db/queries/operations.py': {'state'},
    'db/queries/operation_claims.py': {'state'},
    'db/migrations/': COLUMNS,
    'siblings/compute/migrations/': COLUMNS,
    'siblings/dataproc/migrations/': COLUMNS,
}
# Packages whose code has rows of the database; elsewhere .status is a web reply's or a backend's own.
ROW_PACKAGES = ('db/', 'actions/', 'scheduler/', 'manager/', 'siblings/', 'workflow/', 'doctor/', 'engine/')
# Packages inside of those that have no rows.
NO_ROW_PACKAGES = ('siblings/compute/drivers/', 'siblings/dataproc/handlers/')
SQL = re.compile(
    r'\bupdate\b.*\bset\b.*\b(status|state|task_state|access_rules_status)\s*=', re.IGNORECASE | re.DOTALL
)


def _column(key: ast.expr | None) -> str | None:
    """Return the column that a dictionary key names: 'status' or model.status or table.c.status."""
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    return key.attr if isinstance(key, ast.Attribute) else None


def _call(node: ast.Call) -> Iterator[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, 'id', '')
    if name == 'values':
        yield from (keyword.arg for keyword in node.keywords if keyword.arg)
    if name in ('values', 'execute'):
        for arg in [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg is None)]:
            for part in ast.walk(arg):
                if isinstance(part, ast.Dict):
                    yield from filter(None, map(_column, part.keys))
    if name == 'setattr' and len(node.args) > 1:
        yield from filter(None, [_column(node.args[1])])


def writes(tree: ast.AST, rows: bool) -> Iterator[tuple[int, str]]:
    """Yield line and column of each write."""
    for node in ast.walk(tree):
        columns: list[str] = []
        if isinstance(node, ast.Call):
            columns = list(_call(node))
        elif isinstance(node, ast.Assign | ast.AugAssign) and rows:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            columns = [target.attr for target in targets if isinstance(target, ast.Attribute)]
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and (match := SQL.search(node.value))
        ):
            columns = [match.group(1)]
        yield from ((node.lineno, column) for column in sorted(COLUMNS.intersection(columns)))


def main(root: pathlib.Path) -> Iterator[str]:
    """Yield the writes that are not allowed."""
    for path in sorted((root / 'manila_lite').rglob('*.py')):
        name = path.relative_to(root / 'manila_lite').as_posix()
        if name.startswith('tests/'):
            continue
        allowed = set().union(*(columns for writer, columns in WRITERS.items() if name.startswith(writer)))
        rows = name.startswith(ROW_PACKAGES) and not name.startswith(NO_ROW_PACKAGES)
        for line, column in writes(ast.parse(path.read_text()), rows):
            if column not in allowed:
                yield f'{path}:{line}: writes {column!r}; only db/core/transitions.py may. Use a verb of states.py.'


if __name__ == '__main__':
    checked.run(main)
