# SPDX-License-Identifier: Apache-2.0
"""Finds what the product keeps in memory: results of functions, and dictionaries that are filled later."""

import ast
import pathlib

import manila_lite

_SOURCE = pathlib.Path(manila_lite.__file__).parent
_REMEMBER = {
    f'{prefix}{name}'
    for prefix in ('', 'functools.')
    for name in ('cache', 'lru_cache', 'cached_property', 'computed_once')
}
_DICTIONARIES = {
    'dict',
    'collections.OrderedDict',
    'collections.defaultdict',
    'collections.Counter',
    'weakref.WeakSet',
    'weakref.WeakValueDictionary',
    'weakref.WeakKeyDictionary',
    'cachetools.LRUCache',
    'cachetools.TTLCache',
    'threading.local',
}


def find():
    """Return what is kept, by place (path and name): the function that gives it, or None for a dictionary."""
    found = {}
    for path in sorted(_SOURCE.rglob('*.py')):
        if path.relative_to(_SOURCE).parts[0] not in ('tests', 'siblings'):
            found |= {
                f'{path.relative_to(_SOURCE)} {name}': function
                for name, function in _in(ast.parse(path.read_text()), (), inside=False)
            }
    return found


def _in(node, scope, *, inside):
    """Yield names and functions below a node. ``inside``: a function, whose own variables do not stay."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            function = isinstance(child, ast.FunctionDef)
            if function and any(_called(one) in _REMEMBER for one in child.decorator_list):
                yield '.'.join((*scope, child.name)), child
            yield from _in(child, (*scope, child.name), inside=inside or function)
        else:
            if isinstance(child, ast.Assign | ast.AnnAssign) and child.value is not None:
                name = ast.unparse(child.targets[0] if isinstance(child, ast.Assign) else child.target)
                if _is_new(child.value) and (not inside or name.startswith('self.')):
                    yield '.'.join((*scope[:1], name.removeprefix('self.'))), None
                elif any(
                    isinstance(one, ast.Call) and _called(one) in _REMEMBER for one in ast.walk(child.value)
                ):
                    yield '.'.join((*scope, name)), None
            yield from _in(child, scope, inside=inside)


def _called(node):
    while isinstance(node, ast.Call):
        node = node.func
    return ast.unparse(node)


def _is_new(value):
    return (isinstance(value, ast.Dict) and not value.keys) or (
        isinstance(value, ast.Call) and _called(value) in _DICTIONARIES
    )
