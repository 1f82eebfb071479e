# SPDX-License-Identifier: Apache-2.0
"""The calls of the API, from the rows of the contract."""

from collections.abc import Iterator
from typing import Any

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api import versions
from manila_lite.api.framework.call import Call
from manila_lite.api.framework.fields import Field, Many, One
from manila_lite.api.http import openapi
from manila_lite.api.v2 import CALLS
from reference import rst


def lines() -> Iterator[str]:
    """Yield each call, by resource."""
    for resource in dict.fromkeys(_resource(call) for call in CALLS):
        yield from rst.heading(resource.replace('_', ' ').capitalize(), '-')
        for call in CALLS:
            if _resource(call) == resource:
                yield from _call(call)


def _resource(call: Call) -> str:
    return call.path.strip('/').split('/')[0].replace('-', '_')


def _call(call: Call) -> Iterator[str]:
    yield from rst.heading(f'{call.method} {call.path}{f" {call.action}" if call.action else ""}', '^')
    yield from ((call.call.__doc__ or '').strip().partition('\n')[0], '')
    yield from rst.items(
        (
            ('Microversions', _living(call)),
            ('Policy', rst.code(call.policy)),
            ('Names below 2.7', _old(call)),
            ('Experimental', f'up to {call.experimental_until}' if call.experimental_until else ''),
            ('Sent again', 'answered as before with the same ``Idempotency-Key``' if call.once else ''),
            ('Answers', f'{call.ok}; or {", ".join(map(str, _refusals(call)))}'),
            ('Query', _fields(call.query)),
            ('Body', _body(call)),
            ('Shows', _view(call)),
        )
    )


def _living(thing: Call | Field) -> str:
    if thing.until is None:
        return f'{thing.since} and later'
    return f'{thing.since} to {thing.until}'


def _old(call: Call) -> str:
    if versions.minor(call.since) >= versions.PLAIN_NAMES:
        return ''
    return rst.codes(filter(None, (call.old_path, call.action and call.action_at(versions.MIN))))


def _refusals(call: Call) -> list[int]:
    last = call.until and versions.minor(call.until)
    return sorted(set(openapi.refusals(call, versions.MAX if last is None else last)))


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


def _body(call: Call) -> str:
    if call.body is None:
        return f'{rst.code(call.action)}: nothing' if call.action else ''
    free = 'names and values' if call.body.free is not None else ''
    return f'{rst.code(call.action or call.body.key)}: {_fields(call.body.fields) or free or "nothing"}'


def _view(call: Call) -> str:
    if isinstance(call.view, (One, Many)):
        key = call.view.view.key if isinstance(call.view, One) else call.view.view.plural
        return f'{rst.code(key)}: {_fields(call.view.view.fields)}'
    key = getattr(call.view, 'key', None)
    return rst.code(key) if key else ''
