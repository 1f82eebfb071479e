#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse a production module with logic that no test is named after and no test imports.

Usage: tools/check_mirror.py [ROOT]. A module is mirrored by a test file that imports it, or by a test or
gabbi file of its resource: manila_lite/actions/shares.py by test_shares.py, test_create_share.py or shares*.yaml.
Exemptions are in tools/mirror.txt, each with the test that fails without the module, and the reason.
"""

import ast
import pathlib
import re
import sys
from collections.abc import Iterator

# Where modules are, and the folder below which tools/mirror.txt names those of each package.
PACKAGES = {'manila_lite': 'manila_lite', 'client/manila_lite_client': ''}
# Pure tables: the contract tests read every row of them.
TABLES = ('conf/', 'policies/', 'db/models/', 'db/migrations/', 'siblings/compute/migrations/', 'siblings/dataproc/migrations/')


def has_logic(tree: ast.Module) -> bool:
    """Say whether a module defines a function that is no mere declaration."""
    return any(isinstance(node, ast.FunctionDef) and not _is_declaration(node) for node in ast.walk(tree))


def _is_declaration(node: ast.FunctionDef) -> bool:
    """Say whether a function has only a docstring, ``...``, ``pass`` or a constant returned, as in an interface."""
    return all(isinstance(line, ast.Pass) or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
               or (isinstance(line, ast.Return) and isinstance(line.value, ast.Constant | ast.Tuple | None))
               for line in node.body)


def words(name: str) -> set[str]:
    """Return the words of a file name, in the singular: share_types -> {share, type}."""
    return {re.sub(r'ies$', 'y', word) if word.endswith('ies') else re.sub(r'(?<!s)s$', '', word)
            for word in re.split(r'[_\-.]', name) if word not in ('test', '')}


def imported(tree: ast.Module) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f'{node.module}.{alias.name}' for alias in node.names)}
    return modules


def exemptions(root: pathlib.Path) -> tuple[set[str], list[str]]:
    """Return the modules of tools/mirror.txt, and its lines that name a missing file or give no reason."""
    page = root / 'tools/mirror.txt'
    lines = page.read_text().splitlines() if page.exists() else []
    rows = [line.split(maxsplit=2) for line in lines if line and not line.startswith('#')]
    wrong = [' '.join(row) for row in rows
             if len(row) < 3 or not all((root / 'manila_lite' / name).exists() for name in row[:2])]
    return {row[0] for row in rows}, wrong


def modules(root: pathlib.Path) -> Iterator[tuple[str, str, pathlib.Path]]:
    """Yield the name in tools/mirror.txt, the name for imports and the path of each module."""
    for package, base in PACKAGES.items():
        folder = root / package
        for path in sorted(folder.rglob('*.py')):
            name = '.'.join(path.relative_to(folder.parent).with_suffix('').parts).removesuffix('.__init__')
            yield path.relative_to(root / base).as_posix(), name, path


def without_test(root: pathlib.Path) -> dict[str, str]:
    """Return the modules that no test imports or is named after, with what is missing."""
    tests = root / 'manila_lite' / 'tests'
    names = [words(path.stem) for pattern in ('test_*.py', '*.yaml') for path in tests.rglob(pattern)]
    imports: set[str] = set().union(*(imported(ast.parse(path.read_text())) for path in tests.rglob('*.py')))
    missing = {}
    for inside, module, path in modules(root):
        if inside.startswith(('tests/', *TABLES)) or not has_logic(ast.parse(path.read_text())):
            continue
        resource = words(path.stem if path.stem != '__init__' else path.parent.name)
        if module not in imports and not any(resource <= name for name in names):
            missing[inside] = f'{path}: no test imports {module}, and none is named after {"_".join(sorted(resource))}'
    return missing


def main(root: pathlib.Path) -> int:
    exempt, wrong = exemptions(root)
    missing = without_test(root)
    problems = [f'tools/mirror.txt: not two files of manila_lite/ and a reason: {line}' for line in wrong]
    problems += [f'tools/mirror.txt: {module} has a test now' for module in sorted(exempt - missing.keys())]
    problems += [what for module, what in missing.items() if module not in exempt]
    print(*problems, sep='\n', end='\n' if problems else '')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])))
