# SPDX-License-Identifier: Apache-2.0
"""Fields of a body that its schema does not know: where Manila ignores them, they are taken out, and named in a header."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any
from urllib.parse import quote

#: The header of an answer that names the fields of the request that were ignored.
HEADER = 'X-OpenStack-Manila-Ignored-Fields'

#: Most names in the header, and most characters of each, also once they are encoded.
_MOST, _LONGEST = 20, 80


def take_out(schema: Mapping[str, Any], document: Any, path: str, ignored: list[str]) -> Any:
    """Return the document without unknown fields. The paths of those that are not empty are added to ``ignored``.

    Clients send all fields that they know, and many of them empty. ``path``: that of the document.
    """
    if isinstance(document, list) and isinstance(schema.get('items'), Mapping):
        return [
            take_out(schema['items'], item, f'{path}.{number}', ignored)
            for number, item in enumerate(document)
        ]
    if not isinstance(document, dict) or not _is_closed(schema):
        return document
    known = schema['properties']
    ignored += [
        f'{path}.{name}' if path else name
        for name, value in document.items()
        if name not in known and value not in (None, {})
    ]
    return {
        name: take_out(known[name], value, f'{path}.{name}', ignored)
        for name, value in document.items()
        if name in known
    }


def _is_closed(schema: Mapping[str, Any]) -> bool:
    return 'properties' in schema and schema.get('additionalProperties') is False


def opened(schema: Any) -> Any:
    """Return the schema of documents with unknown fields, as clients may send them."""
    if isinstance(schema, list):
        return [opened(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: opened(part)
        for key, part in schema.items()
        if key != 'additionalProperties' or not _is_closed(schema)
    }


def header(ignored: Iterable[str]) -> str:
    """Return the value of the header. Characters that have no place there are percent-encoded."""
    names = list(islice(ignored, _MOST + 1))
    shown = [quote(name[:_LONGEST], safe="/:~!$'()*+;=@")[:_LONGEST] for name in names[:_MOST]]
    return ', '.join(shown + ['...'] * (len(names) > _MOST))
