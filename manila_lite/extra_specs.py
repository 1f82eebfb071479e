# SPDX-License-Identifier: Apache-2.0
"""The expressions of extra specs: which values of a capability satisfy a share type.

``<is> True``, ``<in> part``, ``<or> a <or> b``, ``<all-in> a b``, numbers (``= == != <= >= < >``; ``=`` is at least, as
everywhere in OpenStack), text (``s== s!= s< s<= s> s>=``), or a plain value. If a capability is a list, one element
must match. oslo.utils' matcher supports neither lists nor booleans, and fails on a value that is no number.
"""

import dataclasses
import functools
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from oslo_utils import strutils

_SCOPE = 'capabilities:'
#: The extra spec that names availability zones, separated by commas.
ZONES = 'availability_zones'
#: The capability to apply QoS specs, and the extra spec by which a type names a QoS type.
_QOS, _PROMISES = 'qos', 'default_qos_type'
#: Extra specs without a scope that no pool reports: zones are those of the services, and QoS types are for the API.
_NO_CAPABILITIES = frozenset({ZONES, _PROMISES})
_IS_SIGN = re.compile(r'^<is>\s*', re.IGNORECASE)
_BOOLEANS = ('true', 'false')
_OPERATOR = re.compile(r'(<[a-z-]+>|s[=!<>]=|s[<>]|[=!<>]=|[=<>])\s*(.*)', re.DOTALL)

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    '==': operator.eq,
    '!=': operator.ne,
    '<=': operator.le,
    '>=': operator.ge,
    '<': operator.lt,
    '>': operator.gt,
}

Test = Callable[[Any], bool]


@dataclasses.dataclass(frozen=True)
class Requirement:
    """The requirement of one extra spec. ``wrong`` says why the spec cannot be read; then no value satisfies it."""

    test: Test
    wrong: str | None = None


def number(value: Any) -> float | None:
    """Return the number of a report or an extra spec; None for 'unknown' and other texts that are no numbers."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().lower() == 'infinite':
        return math.inf
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(parsed) else parsed


def is_true(text: str, *, strict: bool = False) -> bool:
    """Say whether the text means true: ``True``, ``<is> True``, ``yes`` ...

    :raises ValueError: the text means neither true nor false, and ``strict`` is on.
    """
    return strutils.bool_from_string(_IS_SIGN.sub('', text.strip()), strict=strict)


def zones(specs: Mapping[str, str]) -> list[str]:
    """Return the availability zones that a share type is offered in; an empty list means all zones."""
    return [name.strip() for name in specs.get(ZONES, '').split(',') if name.strip()]


def is_offered(specs: Mapping[str, str], zone: str | None) -> bool:
    """Say whether a share type is offered in a zone."""
    names = zones(specs)
    return not names or zone in names


def capability_specs(extra_specs: Mapping[str, str]) -> dict[str, str]:
    """Return the extra specs that ask for capabilities, without their scope. Specs of other scopes are for drivers.

    A type that names a QoS type asks for pools that apply QoS specs.
    """
    bare = ((key.removeprefix(_SCOPE), text) for key, text in extra_specs.items())
    asked = {key: text for key, text in bare if ':' not in key}
    return {_QOS: '<is> True', **asked} if _PROMISES in asked else asked


def unmet_capabilities(asked: Mapping[str, str], reported: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each of these specs of capabilities that the reported ones do not satisfy."""
    return filter(None, (unmet(key, asked[key], reported) for key in sorted(asked.keys() - _NO_CAPABILITIES)))


def matches(value: Any, text: str) -> bool:
    """Say whether a capability of this value satisfies the extra spec."""
    return requirement(text).test(value)


def unmet(key: str, text: str, reported: Mapping[str, Any]) -> str | None:
    """Return None if the reported capabilities satisfy the extra spec, or a sentence with the reason."""
    asks = f'the share type asks {key}={text!r}'
    if wrong := requirement(text).wrong:
        return f'{asks}, which cannot be read: {wrong}'
    if reported.get(key) is None:
        return f'{asks}, the pool reports no {key}'
    return None if matches(reported[key], text) else f'{asks}, the pool reports {reported[key]!r}'


@functools.lru_cache(maxsize=4096)
def requirement(text: str) -> Requirement:
    """Return the requirement of an extra spec."""
    match = _OPERATOR.match(text.strip())
    try:
        return Requirement(_parse(*match.groups()) if match else _any(_equals(text.strip())))
    except ValueError as error:
        return Requirement(lambda _value: False, str(error))


def _parse(sign: str, rest: str) -> Test:
    if sign not in _PARSERS:
        raise ValueError(f'there is no operator {sign}')
    if not rest.strip():
        raise ValueError(f'{sign} has no value')
    return _PARSERS[sign](rest.strip())


def elements(value: Any) -> Collection[Any]:
    """Return the elements of a reported list, or a single value as the only element."""
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)


def _any(test: Test) -> Test:
    return lambda held: any(test(value) for value in elements(held))


def _equals(text: str) -> Test:
    low, figure = text.lower(), number(text)

    def test(value: Any) -> bool:
        if isinstance(value, bool) or low in _BOOLEANS:
            return str(value).lower() == low
        return value == figure if isinstance(value, int | float) else str(value) == text

    return test


def _is(text: str) -> Test:
    if text.lower() not in _BOOLEANS:
        raise ValueError(f'{text} is neither True nor False')
    return _any(_equals(text))


def _in(text: str) -> Test:
    return _any(lambda value: text in str(value))


def _or(text: str) -> Test:
    tests = [_equals(part.strip()) for part in text.split('<or>')]
    return _any(lambda value: any(test(value) for test in tests))


def _all_in(text: str) -> Test:
    words = text.split()

    def test(held: Any) -> bool:
        # A single value is searched like with <in>; in a list, every word must be an element.
        where = str(held) if elements(held) is not held else {str(value) for value in held}
        return all(word in where for word in words)

    return test


def _figures(compare: Callable[[Any, Any], bool]) -> Callable[[str], Test]:
    def parse(text: str) -> Test:
        asked = number(text)
        if asked is None:
            raise ValueError(f'{text} is not a number')

        def test(value: Any) -> bool:
            held = number(value)
            return held is not None and compare(held, asked)

        return _any(test)

    return parse


def _texts(compare: Callable[[Any, Any], bool]) -> Callable[[str], Test]:
    return lambda text: _any(lambda value: compare(str(value), text))


def _named(prefix: str, make: Callable[[Any], Any]) -> Iterable[tuple[str, Any]]:
    return ((prefix + sign, make(compare)) for sign, compare in _COMPARE.items())


_PARSERS: dict[str, Callable[[str], Test]] = {
    '<is>': _is,
    '<in>': _in,
    '<or>': _or,
    '<all-in>': _all_in,
    '=': _figures(operator.ge),
    **dict(_named('', _figures)),
    **dict(_named('s', _texts)),
}
