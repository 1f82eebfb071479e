# SPDX-License-Identifier: Apache-2.0
"""The calls of the API, from the rows of the contract."""

from collections.abc import Iterator
from typing import Any

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.framework.call import Call
from manila_lite.api.framework.fields import Field, Many, One
from manila_lite.api.http import openapi
from manila_lite.api.v2 import OPS
from reference import rst


def lines() -> Iterator[str]:
    """Yield each call, by resource."""
    for resource in dict.fromkeys(_resource(op) for op in OPS):
        yield from rst.heading(resource.replace('_', ' ').capitalize(), '-')
        for op in OPS:
            if _resource(op) == resource:
                yield from _op(op)


def _resource(op: Call) -> str:
    return op.path.strip('/').split('/')[0].replace('-', '_')


def _op(op: Call) -> Iterator[str]:
    yield from rst.heading(f'{op.method} {op.path}{f" {op.action}" if op.action else ""}', '^')
    yield from ((op.call.__doc__ or '').strip().partition('\n')[0], '')
    yield from rst.items(
        (
            ('Microversions', _living(op)),
            ('Policy', rst.code(op.policy)),
            ('Names below 2.7', _old(op)),
            ('Experimental', f'up to {op.experimental_until}' if op.experimental_until else ''),
            ('Sent again', 'answered as before with the same ``Idempotency-Key``' if op.once else ''),
            ('Answers', f'{op.ok}; or {", ".join(map(str, _refusals(op)))}'),
            ('Query', _fields(op.query)),
            ('Body', _body(op)),
            ('Shows', _view(op)),
        )
    )


def _living(thing: Call | Field) -> str:
    if thing.until is None:
        return f'{thing.since} and later'
    return f'{thing.since} to {thing.until}'


def _old(op: Call) -> str:
    if versions.minor(op.since) >= versions.PLAIN_NAMES:
        return ''
    return rst.codes(filter(None, (op.old_path, op.action and op.action_at(versions.MIN))))


def _refusals(op: Call) -> list[int]:
    last = op.until and versions.minor(op.until)
    return sorted(set(openapi.refusals(op, versions.MAX if last is None else last)))


def _fields(fields: Any) -> str:
    return ', '.join(_field(field) for field in fields)


def _field(field: Field) -> str:
    notes = ['required'] if field.required else []
    if (field.since, field.until) != ('2.0', None):
        notes.append(_living(field))
    if field.aliases:
        notes.append(f'or {rst.codes(field.aliases)}')
    if field.rule:
        notes.append(f'with policy {rst.code(field.rule)}')
    return rst.code(field.name) + (f' ({"; ".join(notes)})' if notes else '')


def _body(op: Call) -> str:
    if op.body is None:
        return f'{rst.code(op.action)}: nothing' if op.action else ''
    free = 'names and values' if op.body.free is not None else ''
    return f'{rst.code(op.action or op.body.key)}: {_fields(op.body.fields) or free or "nothing"}'


def _view(op: Call) -> str:
    if isinstance(op.view, (One, Many)):
        key = op.view.view.key if isinstance(op.view, One) else op.view.view.plural
        return f'{rst.code(key)}: {_fields(op.view.view.fields)}'
    key = getattr(op.view, 'key', None)
    return rst.code(key) if key else ''
