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
    offered = [op for op in contract.OPS if not op.states]
    for op in offered:
        yield from rst.heading(f'{op.method} {op.path}', '-')
        yield from ((op.call.__doc__ or '').strip().partition('\n')[0], '')
        yield from rst.items(
            (
                ('Policy', rst.code(op.policy)),
                ('Answers', str(op.ok)),
                ('Query', _fields(op.query)),
                ('Body', _fields(op.body.fields) if op.body else ''),
                ('Shows', _view(op)),
            )
        )
    yield from rst.heading('Not offered', '-')
    yield f'These answer 501: {rst.codes(sorted({op.path for op in contract.OPS if op.states}))}.'


def _fields(fields: Any) -> str:
    return ', '.join(dict.fromkeys(map(_field, fields)))


def _field(field: Field) -> str:
    only = _ONLY.get(field.until or '') or (_ONLY[contract.V2] if field.since == contract.V2 else '')
    twice = field.name in ('node_groups', 'add_node_groups')  # once for each version, with other keys in them
    notes = [*(['required'] if field.required else []), *([only] if only and not twice else [])]
    return rst.code(field.name) + (f' ({"; ".join(notes)})' if notes else '')


def _view(op: Call) -> str:
    if isinstance(op.view, (One, Many)):
        key = op.view.view.key if isinstance(op.view, One) else op.view.view.plural
        return f'{rst.code(key)}: {_fields(op.view.view.fields)}'
    return ''
