# SPDX-License-Identifier: Apache-2.0
"""The regular expressions of the product, measured with long texts.

Run as a program, it measures all of them. It prints a line for each before, so that the last line names one that never ends;
``made`` are those that only the running product knows. Then comes a line with ``slow`` for each that grows too fast.
"""

import ast
import dataclasses
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manila_lite.tests.security import growth, long_texts

PRODUCT = Path(__file__).parents[2]
#: Seconds of the processor for all of them.
LIMIT = 120
_METHODS = ('match', 'search', 'fullmatch', 'sub', 'subn', 'split', 'findall', 'finditer')
#: Text of each module that may have a pattern or call one.
_TELLING = re.compile(rf"\bre\.|'pattern'|\bregex=|\.({'|'.join(_METHODS)})\(")
_BUILTINS = {'tuple': tuple, 'frozenset': frozenset, 'set': set, 'dict': dict, 'list': list}
#: Patterns that are made while the product runs: each of its forms.
MADE = {
    'drivers/linux/protocols/samba_config.py:_value': (r'(?m)^  path = (.*)$', r'(?m)^  read list = (.*)$')
}
#: Patterns that only the running product knows, and the reason why no text from outside reaches them.
OURS = {
    'api/framework/sentences.py:_key': 'They are patterns of schemas, which are measured where they are written.',
    'cmd/manage/logs.py:log_syslog': 'Its alternatives are names of our programs, without repetition.',
}


@dataclasses.dataclass(frozen=True)
class Use:
    """A pattern and the methods that are called on it. ``place``: file, and name or function."""

    place: str
    pattern: str | bytes
    flags: int
    methods: tuple[str, ...]


def uses() -> Iterator[Use]:
    """Yield each pattern of the product. Those that are made while it runs have an empty pattern, unless ``MADE`` has it."""
    texts = {
        path: path.read_text()
        for path in sorted(PRODUCT.rglob('*.py'))
        if not path.is_relative_to(PRODUCT / 'tests')
    }
    trees = {path: ast.parse(text) for path, text in texts.items() if _TELLING.search(text)}
    called = {path: _called(tree) for path, tree in trees.items()}
    public: dict[str, set[str]] = {}
    for known in called.values():
        for name, methods in known.items():
            public.setdefault(name, set()).update(methods)
    for path, tree in trees.items():
        yield from _Module(str(path.relative_to(PRODUCT)), tree, called[path], public).uses()


class _Module:
    def __init__(
        self, name: str, tree: ast.Module, private: dict[str, set[str]], public: dict[str, set[str]]
    ):
        self._name, self._tree, self._private, self._public = name, tree, private, public
        self._known: dict[str, Any] = {'__builtins__': _BUILTINS, 're': re}
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and (value := self._value(node.value)) is not None:
                    self._known[target.id] = value

    def _value(self, node: ast.expr) -> Any:
        """Return the value of an expression of constants; None if it is another one."""
        try:
            return eval(compile(ast.Expression(node), self._name, 'eval'), self._known)
        except Exception:
            return None

    def uses(self) -> Iterator[Use]:
        for name, value in self._known.items():
            for pattern in _patterns(value) if name != '__builtins__' else ():
                yield Use(f'{self._name}:{name}', pattern.pattern, pattern.flags, self._methods(name))
        seen = {id(node) for one in self._tree.body if self._is_known(one) for node in ast.walk(one)}
        for owner, node in _owned(self._tree):
            if id(node) not in seen:
                yield from self._call(owner, node)
            yield from self._schema(owner, node)

    def _is_known(self, node: ast.stmt) -> bool:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, 'target', None)
        return isinstance(target, ast.Name) and target.id in self._known

    def _call(self, owner: str, node: ast.AST) -> Iterator[Use]:
        """Yield the pattern that is given to a function of ``re``."""
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == 're'
            and node.func.attr in (*_METHODS, 'compile')
        ):
            return
        place, method = f'{self._name}:{owner}', node.func.attr
        if place in MADE:
            yield from (Use(place, pattern, 0, (method,)) for pattern in MADE[place])
            return
        pattern = self._value(node.args[0])
        number = {'match': 2, 'search': 2, 'fullmatch': 2, 'compile': 1, 'findall': 2, 'finditer': 2}.get(
            method, 9
        )
        given = [*node.args[number:], *(word.value for word in node.keywords if word.arg == 'flags')]
        flags = self._value(given[0]) if given else 0
        yield Use(
            place,
            pattern or '',
            int(flags or 0),
            ('search', 'fullmatch') if method == 'compile' else (method,),
        )

    def _schema(self, owner: str, node: ast.AST) -> Iterator[Use]:
        """Yield the patterns of a schema, or of an option."""
        found = []
        if isinstance(node, ast.Dict):
            found = [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == 'pattern'
            ]
        elif isinstance(node, ast.Call):
            found = [word.value for word in node.keywords if word.arg == 'regex']
        for value in found:
            if isinstance(pattern := self._value(value), str):
                yield Use(f'{self._name}:{owner}', pattern, 0, ('search',))

    def _methods(self, name: str) -> tuple[str, ...]:
        """Return the methods that are called on a name of the module, here or, if it is public, elsewhere."""
        called = (self._private if name.startswith('_') else self._public).get(name, ())
        return tuple(sorted(called)) or ('search', 'fullmatch')


def _called(tree: ast.Module) -> dict[str, set[str]]:
    """Return the methods of patterns that are called in a module, by the last name before the call."""
    called: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            name = getattr(node.func.value, 'id', '') or getattr(node.func.value, 'attr', '')
            called.setdefault(name, set()).add(node.func.attr)
    return called


def _owned(tree: ast.AST, owner: str = '') -> Iterator[tuple[str, ast.AST]]:
    """Yield all nodes, each with the function or the name that it belongs to."""
    for node in ast.iter_child_nodes(tree):
        name = getattr(node, 'name', '')
        if isinstance(node, ast.Assign) and not owner:
            name = ast.unparse(node.targets[0])
        yield owner or name, node
        yield from _owned(node, name if isinstance(node, (ast.FunctionDef, ast.Assign)) and name else owner)


def _patterns(value: Any) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from (pattern for one in value.items() for pattern in _patterns(one))
    elif isinstance(value, (tuple, list, set, frozenset)):
        yield from (pattern for one in value for pattern in _patterns(one))


def slow(use: Use) -> Iterator[str]:
    """Yield a sentence for each method of a pattern that grows too fast."""
    compiled = re.compile(use.pattern, use.flags)
    for method in use.methods:
        call = getattr(compiled, method)
        do = (lambda text, call=call: call('', text)) if method in ('sub', 'subn') else call
        if isinstance(use.pattern, bytes):
            do = (lambda text, call=call: call(b'', text)) if method in ('sub', 'subn') else call
        if method == 'finditer':
            do = compiled.findall
        for begin, part, end in long_texts.attacks(use.pattern, use.flags):
            ratio = growth.growth(do, lambda size, a=begin, b=part, c=end: _text(a, b, c, size, use.pattern))
            if ratio > growth.MOST:
                yield (
                    f'{use.place}: {method} of {use.pattern!r} with {begin!r}, many {part!r} and {end!r}: four times the '
                    f'text costs {ratio:.0f} times as much'
                )
                break


def _text(begin: str, part: str, end: str, size: int, like: str | bytes) -> str | bytes:
    text = begin + part * (size // len(part)) + end
    return text.encode('latin-1') if isinstance(like, bytes) else text


if __name__ == '__main__':
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    for one in uses():
        print('begins' if one.pattern else 'made', one.place, flush=True)
        for sentence in slow(one) if one.pattern else ():
            print('slow', sentence, flush=True)
