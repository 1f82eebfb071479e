# SPDX-License-Identifier: Apache-2.0
"""The contract rows for metadata, the same for every resource type that has metadata."""

from typing import Any

from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Plain
from manila_lite.api.v2.metadata import MetadataCalls

_ALL = Body('metadata', free=shapes.METADATA)
_ITEM = Body('meta', free=shapes.METADATA, keys=('metadata',))


def metadata_ops(
    path: str, calls: MetadataCalls, rules: Any, *, since: str = '2.0', shown: Any = shapes.PAIRS
) -> list[Call]:
    """Return the six calls below ``path``. ``rules`` names three policies: GET_METADATA, UPDATE_METADATA, DELETE_METADATA."""
    every, one = f'{path}/metadata', f'{path}/metadata/{{key}}'
    read, change, remove = rules.GET_METADATA, rules.UPDATE_METADATA, rules.DELETE_METADATA
    pairs, pair = Plain(shown, 'metadata'), Plain(shown, 'meta')
    return [
        Call('GET', every, calls.named('get_metadata'), read, pairs, since=since),
        Call('POST', every, calls.named('merge_metadata'), change, pairs, since=since, body=_ALL),
        Call('PUT', every, calls.named('replace_metadata'), change, pairs, since=since, body=_ALL),
        Call('GET', one, calls.named('get_metadata_item'), read, pair, since=since),
        Call('POST', one, calls.named('set_metadata_item'), change, pair, since=since, body=_ITEM),
        Call('DELETE', one, calls.named('delete_metadata'), remove, since=since),
    ]
