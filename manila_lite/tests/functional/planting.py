# SPDX-License-Identifier: Apache-2.0
"""Find every place of a body in which its schema allows a text: in fields, lists, maps and nested ones."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

#: The key that is used in maps with arbitrary keys.
_ANY = 'key'


def places(schema: Mapping[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all texts that a document of the schema may have, starting at the outermost key."""
    kinds = schema.get('type', ())
    kinds = {kinds} if isinstance(kinds, str) else {*kinds}
    if 'string' in kinds and 'enum' not in schema:
        yield ()
    for key, below in _below(schema).items():
        if isinstance(below, Mapping):
            yield from ((key, *path) for path in places(below))


def _below(schema: Mapping[str, Any]) -> dict[str | int, Any]:
    return {0: schema.get('items'), _ANY: schema.get('additionalProperties'), **schema.get('properties', {})}


def planted(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Return the document with this value at the path; missing levels are added."""
    if not path:
        return value
    key, *more = path
    if key == 0:
        return [planted(None, tuple(more), value)]
    changed = copy.copy(document) if isinstance(document, dict) else {}
    changed[key] = planted(changed.get(key), tuple(more), value)
    return changed
