# SPDX-License-Identifier: Apache-2.0
"""The calls of the data-processing service, from the rows of its contract."""

from collections.abc import Iterator
from typing import Any

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api.framework.call import Call
from manila_lite.api.framework.fields import Field, Many, One
from manila_lite.siblings.dataproc import contract
from reference import rst

_ONLY = {contract.V1: '``/v1.1`` only', contract.V2: '``/v2`` only'}


def lines() -> Iterator[str]:
    """Yield each call, in the order of the contract."""
    offered = [call for call in contract.CALLS if not call.states]
    for call in offered:
        yield from rst.heading(f'{call.method} {call.path}', '-')
        yield from ((call.call.__doc__ or '').strip().partition('\n')[0], '')
        yield from rst.items(
            (
                ('Policy', rst.code(call.policy)),
                ('Answers', str(call.ok)),
                ('Query', _fields(call.query)),
                ('Body', _fields(call.body.fields) if call.body else ''),
                ('Shows', _view(call)),
            )
        )
    yield from rst.heading('Not offered', '-')
    yield f'These answer 501: {rst.codes(sorted({call.path for call in contract.CALLS if call.states}))}.'


def _fields(fields: Any) -> str:
    return ', '.join(dict.fromkeys(map(_field, fields)))


def _field(field: Field) -> str:
    only = _ONLY.get(field.until or '') or (_ONLY[contract.V2] if field.since == contract.V2 else '')
    twice = field.name in ('node_groups', 'add_node_groups')  # once for each version, with other keys in them
    notes = [*(['required'] if field.required else []), *([only] if only and not twice else [])]
    return rst.code(field.name) + (f' ({"; ".join(notes)})' if notes else '')


def _view(call: Call) -> str:
    if isinstance(call.view, (One, Many)):
        key = call.view.view.key if isinstance(call.view, One) else call.view.view.plural
        return f'{rst.code(key)}: {_fields(call.view.view.fields)}'
    return ''
