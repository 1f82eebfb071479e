#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuse a contributor guide that names what is gone: a file, a function, a table, an option or an environment of tox.

Usage: tools/check_guides.py [ROOT]. Reads doc/source/contributor/*.rst, CONTRIBUTING.rst and HACKING.rst. In double backquotes,
``actions/shares.py`` is a file, under manila_lite, its tests or the root, and ``actions/shares.py: create`` or
``drivers/dummy/driver.py: DummyDriver.create_share`` is a name in it. Any other word with an underscore, a dot or brackets must
be in some file that is no documentation.
"""

import ast
import pathlib
import re
from collections.abc import Iterator

import checked

# A guide without a single checked name is broken, too.
LITERAL = re.compile(r'``([^`]+)``')
_PATH = re.compile(r'(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|yaml|cfg|rst|toml|txt|[ct]sv)')
_NAMED = re.compile(r'([\w./-]+):\s+([\w.]+)')
_WORD = re.compile(r'[A-Za-z]\w*')
#: Where words of the product, of its tests and of its tools are.
_SOURCES = ('manila_lite', 'client', 'tools', 'etc', 'setup.cfg', 'pyproject.toml', 'tox.ini')


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


def find(root: pathlib.Path, path: str) -> pathlib.Path | None:
    """Return the file or directory that a guide means, or None."""
    bases = (root / 'manila_lite', root, root / 'manila_lite/tests', root / 'doc/source/contributor')
    return next((base / path for base in bases if (base / path).exists()), None)


def words_of(root: pathlib.Path) -> set[str]:
    """Return all words of all files that are no documentation."""
    found: set[str] = set()
    for source in _SOURCES:
        top = root / source
        for path in (top, *top.rglob('*')):
            if path.is_file() and path.suffix not in ('.pyc', '.so', '.png', '.gz'):
                found.update(_WORD.findall(path.read_text(errors='ignore')))
    return found


def problems(root: pathlib.Path, literal: str, known: set[str]) -> Iterator[str]:
    """Yield what is wrong with one literal."""
    if named := _NAMED.fullmatch(literal):
        file, name = named.groups()
        path = find(root, file)
        if path and name not in set(names(ast.parse(path.read_text()))):
            yield f'{file} has no {name}'
        literal = file
    if tox := re.search(r'tox -e ([\w,-]+)', literal):
        text = (root / 'tox.ini').read_text()
        yield from (
            f'there is no tox -e {name}' for name in tox[1].split(',') if f'[testenv:{name}]' not in text
        )
        return
    for word in literal.split():
        plain = word.strip(',:;()').removeprefix('./')
        if _PATH.fullmatch(plain):
            if not find(root, plain):
                yield f'there is no {plain}'
        elif '_' in word or '.' in word or word.endswith('()'):
            yield from (f'nothing is called {name}' for name in _WORD.findall(plain) if name not in known)


def main(root: pathlib.Path) -> Iterator[str]:
    """Yield the problems of all pages."""
    known = words_of(root)
    others = [path for path in (root / 'CONTRIBUTING.rst', root / 'HACKING.rst') if path.exists()]
    for page in (*sorted((root / 'doc/source/contributor').glob('*.rst')), *others):
        text = page.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            for literal in LITERAL.findall(line):
                yield from (f'{page}:{number}: {wrong}' for wrong in problems(root, literal, known))
        if page.name.startswith('follow-') and not LITERAL.search(text):
            yield f'{page}: a guide must name files, as ``actions/shares.py: create``'


if __name__ == '__main__':
    checked.run(main)
