# SPDX-License-Identifier: Apache-2.0
"""Schemas of values that many resources share, each with the parser for the forms that clients send."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from oslo_utils import strutils, timeutils

from manila_lite.api.framework import literal

MAX_INT = 2**31 - 1

Schema = Mapping[str, Any]

EMPTY: Schema = {'type': ['null', 'object'], 'maxProperties': 0}
INTEGER: Schema = {'type': 'integer'}
NULL_INTEGER: Schema = {'type': ['integer', 'null']}
STRING: Schema = {'type': 'string'}
ID = {'type': 'string'}
NULL_ID = {'type': ['string', 'null']}
UUID = {'type': 'string', 'format': 'uuid', 'maxLength': 36}
NULL_UUID = {'type': ['string', 'null'], 'format': 'uuid', 'maxLength': 36}
#: An id that may be of no object, and then needs no form: what it names is not there, as in Manila.
REFERENCE = {'type': 'string', 'maxLength': 255}
NULL_REFERENCE = {'type': ['string', 'null'], 'maxLength': 255}
#: The form that clients parse: microseconds and no zone, so not the format "date-time" of JSON schemas.
_TIME_FORM = r'^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}$'
TIME = {'type': 'string', 'pattern': _TIME_FORM}
NULL_TIME = {'type': ['string', 'null'], 'pattern': _TIME_FORM}
BOOLEAN = {'type': 'boolean'}
NULL_STRING = {'type': ['string', 'null']}
NAME = {'type': ['string', 'null'], 'maxLength': 255}
TEXT = {'type': 'string', 'minLength': 1, 'maxLength': 255}
COUNT = {'type': 'integer', 'minimum': 0}
SIZE = {'type': ['integer', 'string'], 'minimum': 1, 'maximum': MAX_INT, 'pattern': r'^0*[1-9][0-9]{0,9}$'}
_FLAGS = [
    True,
    False,
    'true',
    'false',
    'True',
    'False',
    'TRUE',
    'FALSE',
    '1',
    '0',
    1,
    0,
    'yes',
    'no',
    'on',
    'off',
    't',
    'f',
    'y',
    'n',
]
FLAG = {'type': ['boolean', 'string', 'integer'], 'enum': _FLAGS}
NULL_FLAG = {'type': ['boolean', 'string', 'integer', 'null'], 'enum': [*_FLAGS, None]}
#: A key that a URL can name: clients and proxies take out parts of a path that are ``.`` or ``..``.
KEY = {
    'minLength': 1,
    'maxLength': 255,
    'pattern': r'^(?!([\s\S]*/)?\.\.?(/|$))',
    'description': 'no part between slashes may be . or .., which no URL can name',
}
METADATA = {
    'type': 'object',
    'propertyNames': KEY,
    'additionalProperties': {'type': 'string', 'minLength': 1, 'maxLength': 1023},
}
PAIRS = {'type': 'object', 'additionalProperties': {'type': 'string'}}
LINKS: Schema = {
    'type': 'array',
    'items': {
        'type': 'object',
        'properties': {'rel': STRING, 'href': STRING},
        'required': ['rel', 'href'],
        'additionalProperties': False,
    },
}

_PAIRS = 'must be key and value pairs, for instance {"key": "value"}'


def document(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with exactly these members."""
    return {
        'type': 'object',
        'properties': {**required, **(optional or {})},
        'required': list(required),
        'additionalProperties': False,
    }


def progress(**more: Any) -> dict[str, Any]:
    """Return the schema of a migration's progress, with ``more`` properties that are always present."""
    figures = ('phase', 'bytes_done', 'bytes_total', 'bytes_per_second', 'seconds_left')
    return {
        'type': 'object',
        'required': ['total_progress', *more],
        'properties': {
            'total_progress': {'type': 'integer', 'minimum': 0, 'maximum': 100},
            **more,
            **dict.fromkeys(figures, NULL_INTEGER),
        },
    }


def integer(value: Any) -> int:
    """Return the number: 5 for ``5`` and ``"5"``."""
    number = _whole(value)
    if abs(number) > MAX_INT:
        raise ValueError(f'{value} is too large')
    return number


def position(value: Any) -> int:
    """Return the number, capped: gophercloud asks for a page after the last one at its largest number, beyond any list."""
    return min(_whole(value), MAX_INT)


def _whole(value: Any) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError('must be a whole number') from None


def one_or_several(value: Any) -> list[Any]:
    """Return the list, or a list of the single value that was given instead of one."""
    return value if isinstance(value, list) else [value]


def flag(value: Any) -> bool:
    """Return the boolean: True, "true", 1, "on" ... are true. Other texts than these and their opposites are refused."""
    try:
        return strutils.bool_from_string(str(value), strict=True)
    except ValueError:
        raise ValueError('must be true or false') from None


def pairs(value: Any) -> dict[str, str]:
    """Return pairs given as JSON, ``{"k": "v"}``, or as Python clients write them, ``{'k': 'v'}``."""
    if not isinstance(value, dict):
        value = _literal(str(value))
    if not isinstance(value, dict) or not all(
        isinstance(part, (str, int, bool)) for pair in value.items() for part in pair
    ):
        raise ValueError(_PAIRS)
    return {_storable(str(key)): _storable(str(part)) for key, part in value.items()}


def _storable(text: str) -> str:
    """Return the text unchanged, and refuse one that a database cannot store or search for."""
    if '\x00' in text:
        raise ValueError('holds a NUL character')
    if any('\ud800' <= char <= '\udfff' for char in text):
        raise ValueError('holds half a character (a surrogate)')
    return text


def _literal(text: str) -> Any:
    for read in (json.loads, literal.pairs):
        try:
            return read(text)
        except (ValueError, RecursionError):
            continue
    raise ValueError(_PAIRS)


def time(value: Any) -> Any:
    """Return an ISO 8601 time as naive UTC."""
    try:
        return timeutils.normalize_time(timeutils.parse_isotime(str(value)))
    except (ValueError, OverflowError):
        pass
    try:
        return day(value)
    except ValueError:
        raise ValueError(f'{value!r} is not a time such as 2026-01-31T12:00:00') from None


def day(value: Any) -> Any:
    """Return the beginning of a day as naive UTC."""
    try:
        return timeutils.parse_strtime(str(value), '%Y-%m-%d')
    except ValueError:
        raise ValueError(f'{value!r} is not a day such as 2026-01-31') from None


def one_of(*values: str) -> Callable[[Any], str]:
    """Return a parser of a value that must be one of these; case does not matter."""

    def parse(value: Any) -> str:
        text = str(value).lower()
        if text not in values:
            raise ValueError(f'{value!r} is not one of {", ".join(values)}')
        return text

    return parse
