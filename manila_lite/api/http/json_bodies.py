# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests as JSON, none so deep that it cannot be written again: hashed, stored, sent to a share manager, shown."""

from typing import Any

import orjson

from manila_lite import errors

#: Levels of lists and objects. The calls need a few; a writer of JSON somewhere behind may end at 254, as orjson does.
DEEPEST = 32
#: Below it a float has all whole numbers.
_EXACT = 2.0**53


def read(text: bytes) -> Any:
    """Return the document.

    :raises errors.Invalid: it is not JSON, is nested too deep, or has characters that no database can store.
    """
    if b'\\u0000' in text:
        raise errors.Invalid('body: holds a NUL character.')
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as bad:
        raise errors.Invalid(f'body: is not JSON: {bad}.', code='malformed_body') from None
    if text.count(b'[') + text.count(b'{') > DEEPEST and _is_deep(document):  # few bodies have that many
        raise errors.Invalid(f'body: is nested more than {DEEPEST} levels deep.', code='malformed_body')
    return _whole(document)


def _whole(document: Any) -> Any:
    """Return the document with 7.0 as 7: JSON schema takes both for integers, Python only the second."""
    if isinstance(document, dict):
        return {name: _whole(value) for name, value in document.items()}
    if isinstance(document, list):
        return [_whole(value) for value in document]
    return (
        int(document)
        if isinstance(document, float) and document.is_integer() and abs(document) < _EXACT
        else document
    )


def _is_deep(document: Any) -> bool:
    level = [document]
    for _ in range(DEEPEST + 1):
        level = [
            part
            for one in level
            if isinstance(one, (dict, list))
            for part in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(level)
