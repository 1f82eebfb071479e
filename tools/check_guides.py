#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse a contributor guide that names a file, function or table which is gone.

Usage: tools/check_guides.py [ROOT]. Reads doc/source/contributor/*.rst. In double backquotes,
``actions/shares.py`` is a file, under manila_lite or the root, and ``actions/shares.py: create`` or
``drivers/dummy/driver.py: DummyDriver.create_share`` is a name in it.
"""

import ast
import pathlib
import re
import sys
from collections.abc import Iterator

# A guide without a single checked name is broken, too.
LITERAL = re.compile(r'``([\w./-]+\.(?:py|yaml|cfg|rst|toml|txt)|(?:[\w.-]+/)+)(?::\s+([\w.]+))?``')


def names(tree: ast.AST, prefix: str = '') -> Iterator[str]:
    """Yield every function, class, method and assigned name, with its class before a dot."""
    for node in getattr(tree, 'body', []):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from names(node, f'{prefix}{node.name}.')
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (prefix + target.id for target in targets if isinstance(target, ast.Name))


def problem(root: pathlib.Path, file: str, name: str | None) -> str | None:
    """Return the problem of one reference, or None."""
    path = next((base / file for base in (root / 'manila_lite', root) if (base / file).exists()), None)
    if path is None:
        return f'there is no {file}'
    if name and name not in set(names(ast.parse(path.read_text()))):
        return f'{file} has no {name}'
    return None


def main(root: pathlib.Path) -> int:
    bad = 0
    for page in sorted((root / 'doc/source/contributor').glob('*.rst')):
        steps = 0
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for file, name in LITERAL.findall(line):
                steps += 1
                if wrong := problem(root, file, name or None):
                    print(f'{page}:{number}: {wrong}')
                    bad += 1
        if page.name.startswith('follow-') and not steps:
            print(f'{page}: a guide must name files, as ``actions/shares.py: create``')
            bad += 1
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])))
