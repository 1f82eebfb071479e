# SPDX-License-Identifier: Apache-2.0
"""All possible faults, with a key that stays the same when other lines change."""

import collections
import dataclasses
import hashlib
import pathlib
from collections.abc import Iterator
from typing import Any

from cosmic_ray import ast, mutating

from mutation import operators, targets

#: Annotations: a fault there has no effect at run time.
_ANNOTATIONS = {'tfpdef', 'annassign'}
#: Immutability of objects and __all__ are promises to readers, which mypy checks.
_FROZEN = 'frozen='


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault: ``kind`` of operator, its number ``occurrence`` in the file, and its place. That is ``line``, in the
    statement from line ``first`` to ``last``; ``definition`` is the function or, outside of any, the assigned name.
    """

    key: str
    path: str
    kind: str
    occurrence: int
    line: int
    first: int
    last: int
    definition: str
    text: str
    critical: str

    def code(self, root: pathlib.Path) -> str | None:
        """Return the file's text with the fault, or None if that is no valid Python, or unchanged."""
        source = (root / self.path).read_text()
        changed = mutating.mutate_code(source, operators.all_of_them()[self.kind], self.occurrence)
        try:
            compile(changed or '', self.path, 'exec')
        except SyntaxError:
            return None
        return None if changed in (None, source) else changed


def every(root: pathlib.Path) -> list[Mutant]:
    """Return the faults of all files of the core."""
    files = sorted({path for pattern in targets.FILES for path in root.glob(pattern)})
    return [mutant for path in files for mutant in of(root, path)]


def of(root: pathlib.Path, path: pathlib.Path) -> Iterator[Mutant]:
    """Yield the faults of one file."""
    source = path.read_text()
    lines = source.splitlines()
    name = str(path.relative_to(root))
    nodes = list(ast.ast_nodes(ast.get_ast(source)))
    seen: collections.Counter[str] = collections.Counter()
    for kind, operator in operators.all_of_them().items():
        places = [(node, place) for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (node, (start, end)) in enumerate(places):
            definition, line = _definition(node), lines[start[0] - 1]
            if _is_annotation(node) or definition == '__all__' or _FROZEN in (
                    line[start[1]:][:len(_FROZEN)], line[:start[1]][-len(_FROZEN):]):
                continue
            text = line.strip()
            what = f'{name} {definition} {kind} {text} {start[1] - line.index(text)}'
            seen[what] += 1
            key = hashlib.sha256(f'{what} {seen[what]}'.encode()).hexdigest()[:10]
            yield Mutant(key, name, kind, occurrence, start[0], *_statement(node, start[0], end[0]), definition, text,
                         targets.critical(name, definition, text))


def _is_annotation(node: Any) -> bool:
    child, parent = node, node.parent
    while parent is not None:
        if parent.type in _ANNOTATIONS:
            # The value of an annotated name comes after the '='.
            values = [str(each) for each in parent.children]
            return parent.type == 'tfpdef' or '=' not in values or parent.children.index(child) < len(values) - 1
        if parent.type == 'funcdef' and parent.annotation is child:
            return True
        child, parent = parent, parent.parent
    return False


def _statement(node: Any, start: int, end: int) -> tuple[int, int]:
    """Return the lines of the statement: coverage records its first line."""
    while node is not None:
        if node.type == 'simple_stmt':
            return node.start_pos[0], node.children[-1].start_pos[0]
        node = node.parent
    return start, end


def _definition(node: Any) -> str:
    names, assigned = [], ''
    while node is not None:
        if node.type in ('funcdef', 'classdef'):
            names.append(node.name.value)
        elif node.type == 'expr_stmt':
            assigned = node.get_first_leaf().value
        node = node.parent
    return '.'.join(reversed(names)) or assigned
