# SPDX-License-Identifier: Apache-2.0
"""Versions of calls and fields, in one form from two sources: record.yaml and the contract."""

import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from manila_lite.api import versions
from manila_lite.api.framework import fields

#: Names of parts of a call, with the versions at which each exists.
Lives = dict[str, set[int]]

_ALWAYS = frozenset(versions.HISTORY)
_SPAN = re.compile(r'2\.(\d+)(?:-2\.(\d+))?[*!]?')
_METADATA = {
    'GET {}/metadata': 'metadata',
    'POST {}/metadata': 'metadata',
    'PUT {}/metadata': 'metadata',
    'GET {}/metadata/{{}}': 'meta',
    'POST {}/metadata/{{}}': 'meta',
    'DELETE {}/metadata/{{}}': '',
}


class Call:
    """The versions and names of a call, and the versions of its parameters and fields."""

    def __init__(self) -> None:
        self.lives: set[int] = set()
        self.names: Lives = {}
        self.parts: dict[str, Lives] = {'query': {}, 'body': {}, 'answer': {}}
        self.experimental: set[int] = set()

    def lines(self) -> Iterator[str]:
        """Yield lines about the call, to be compared by people."""
        yield f'in {spans(self.lives)}'
        yield f'experimental in {spans(self.experimental)}'
        yield from sorted(f'called {name} in {spans(lives)}' for name, lives in self.names.items())
        for where, names in self.parts.items():
            yield from sorted(f'{where}: {name} in {spans(lives)}' for name, lives in names.items() if lives)


def spans(lives: set[int]) -> str:
    """Return versions as ``2.0-2.6 2.9-2.99``."""
    first = [version for version in sorted(lives) if version - 1 not in lives]
    last = [version for version in sorted(lives) if version + 1 not in lives]
    return (
        ' '.join(f'{versions.show(low)}-{versions.show(high)}' for low, high in zip(first, last, strict=True))
        or 'none'
    )


# From record.yaml ----------------------------------------------------------------------------------


def written() -> dict[str, Call]:
    """Read record.yaml. All values are text: a version is not a number (2.10 is not 2.1)."""
    document = yaml.load((pathlib.Path(__file__).parent / 'record.yaml').read_text(), yaml.CBaseLoader)
    rows = dict(document['calls'])
    for path, row in document['metadata'].items():
        rows |= {form.format(path): {**row, 'answer': answer} for form, answer in _METADATA.items()}
    return {name: _written(name, row, document['sets']) for name, row in rows.items()}


def _written(name: str, row: dict[str, str], sets: dict[str, str]) -> Call:
    call = Call()
    call.lives = _between(row.get('in', '2.0'))
    before = call.lives & set(range(versions.PLAIN_NAMES)) if 'was' in row else set()
    call.names = {
        old: lives
        for old, lives in ((_was(name, row.get('was', '')), before), (name, call.lives - before))
        if lives
    }
    if _was(name, row.get('was', '')) == name:
        call.names = {name: call.lives}
    if 'trial' in row:
        call.experimental = {version for version in call.lives if version <= versions.minor(row['trial'])}
    for where, found in call.parts.items():
        for word in _words(row.get(where, ''), sets):
            part, _at, span = word.partition('@')
            found[part] = call.lives & (_between(span) if span else _ALWAYS)
    return call


def _was(name: str, old: str) -> str:
    method, path, *action = name.split(' ')
    return f'{method} {old}' if old.startswith('/') else f'{method} {path} {old}' if action else name


def _words(text: str, sets: dict[str, str]) -> Iterator[str]:
    for word in text.split():
        if word.startswith('$'):
            yield from _words(sets[word[1:]], sets)
        else:
            yield word


def _between(span: str) -> set[int]:
    match = _SPAN.fullmatch(span)
    if match is None:
        raise ValueError(f'{span!r} is not of the form 2.9 or 2.0-2.8')
    return set(range(int(match[1]), int(match[2] or versions.MAX) + 1))


# From the contract ---------------------------------------------------------------------------------


def served(ops: Iterable[Any]) -> dict[str, Call]:
    """Read the contract. Several rows of one call become one."""
    calls: dict[str, Call] = {}
    for op in ops:
        call = calls.setdefault(_name(op.method, op.path, op.action), Call())
        for version in versions.HISTORY:
            if op.lives(version):
                _at(call, op, version)
    for call in calls.values():
        for found in call.parts.values():
            for name in [name for name in found if (whole := _whole(name)) and found[name] == found[whole]]:
                del found[name]  # it has the same versions as the whole
    return calls


def _at(call: Call, op: Any, version: int) -> None:
    call.lives.add(version)
    call.names.setdefault(_name(op.method, op.path_at(version), op.action_at(version)), set()).add(version)
    if op.experimental_until and version <= versions.minor(op.experimental_until):
        call.experimental.add(version)
    parts = {
        'query': _of_fields(op.query, version),
        'body': _of_fields(op.body.fields if op.body else (), version),
        'answer': _of_answer(op.view, version),
    }
    for where, names in parts.items():
        for name in names:
            call.parts[where].setdefault(name, set()).add(version)


def _name(method: str, path: str, action: str | None) -> str:
    return f'{method} {re.sub("{.*?}", "{}", path)} {action or ""}'.strip()


def _whole(name: str) -> str:
    """Return ``a``, the field of a part ``a.b`` or of a value ``a=b``."""
    return re.split(r'[.=](?=[^.=]*$)', name)[0] if '.' in name or '=' in name else ''


def _of_fields(found: Iterable[fields.Field], version: int) -> Iterator[str]:
    for field in found:
        if field.lives(version) and not getattr(field.parse, '__name__', '').startswith('_refuse'):
            for name in (field.name, *field.aliases):
                yield name
                yield from _inside(name, field.schema)


def _of_answer(view: Any, version: int) -> Iterator[str]:
    if isinstance(view, fields.One | fields.Many):
        yield from _of_fields(view.view.fields, version)
    elif view is not None:
        yield from (name[1:] for name in _inside('', view.schema(version)))


def _inside(name: str, schema: Any) -> Iterator[str]:
    schema = schema.get('items', schema)
    yield from (f'{name}={value}' for value in schema.get('enum', ()))
    for part, inner in schema.get('properties', {}).items():
        yield f'{name}.{part}'
        yield from _inside(f'{name}.{part}', inner)
