# SPDX-License-Identifier: Apache-2.0
"""Sentences about documents that do not fit their schema: fastjsonschema writes some of them in Python's notation."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

import fastjsonschema

from manila_lite import errors

#: Characters of a client's field name that an answer repeats.
_LONGEST = 80


def reason(bad: fastjsonschema.JsonSchemaValueException) -> str:
    """Return the reason why a document does not fit, without its path and without a full stop."""
    write = _WRITERS.get(bad.rule or '')
    if write is not None:
        return write(bad)
    return str(bad.message.removeprefix(bad.name).strip() if bad.name else bad.message)


def _unknown(bad: Any) -> str:
    known, forms = bad.definition.get('properties', {}), bad.definition.get('patternProperties')
    if forms:
        return 'has a field whose name is not allowed'
    return f'must not have {_listed(sorted(name for name in bad.value if name not in known))}'


def _missing(bad: Any) -> str:
    return f'must have {_listed([name for name in bad.rule_definition if name not in bad.value])}'


def _listed(names: list[str]) -> str:
    return f'the field{"s" if len(names) > 1 else ""} {", ".join(map(_plain, names))}'


def _one_of(bad: Any) -> str:
    """Return the values, each once: flags are known as booleans, texts and numbers, in several cases."""
    shown: dict[str, str] = {}
    for one in bad.rule_definition:
        text = one if isinstance(one, str) else json.dumps(one)
        shown.setdefault(text.lower(), text)
    return f'must be one of {", ".join(shown.values())}'


def _key(bad: Any) -> str:
    """Return the reason for the first key that does not fit: its length, or its form."""
    form = bad.rule_definition
    shortest, longest = form.get('minLength', 0), form.get('maxLength', math.inf)
    for name in bad.value:
        if not shortest <= len(name) <= longest:
            return f'has the key {_plain(name)} of {errors.count(len(name), "character")}; a key has {shortest} to {longest}'
        if not re.search(form.get('pattern', ''), name):
            return ': '.join(filter(None, (f'must not have the key {_plain(name)}', form.get('description'))))
    return 'has a field whose name is not allowed'


def _plain(name: str) -> str:
    """Return a name that a client sent, readable in one line: with JSON's escapes where it cannot be printed."""
    short = name if len(name) <= _LONGEST else f'{name[:_LONGEST]}...'
    return short if short and short.isprintable() else json.dumps(short)


def _size(words: str, noun: str) -> Callable[[Any], str]:
    return lambda bad: f'must have {words} {errors.count(bad.rule_definition, noun)}'


_WRITERS: dict[str, Callable[[Any], str]] = {
    'additionalProperties': _unknown,
    'required': _missing,
    'enum': _one_of,
    'pattern': lambda bad: f'must match the pattern {bad.rule_definition}',
    'propertyNames': _key,
    'minLength': _size('at least', 'character'),
    'maxLength': _size('at most', 'character'),
    'minItems': _size('at least', 'item'),
    'maxItems': _size('at most', 'item'),
    'const': lambda bad: f'must be {json.dumps(bad.rule_definition)}',
    **dict.fromkeys(('anyOf', 'oneOf'), lambda bad: 'has none of the forms that are allowed here'),
}
