# SPDX-License-Identifier: Apache-2.0
"""Texts for which a regular expression may be slow, made of its own characters."""

from collections.abc import Iterator
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_ALPHABET = [chr(number) for number in (*range(97, 123), *range(32, 127), 9, 10, 0, 255)]
_CATEGORIES = {
    ops.CATEGORY_DIGIT: str.isdigit,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: str.isalnum,
}
_OTHERS = {
    ops.CATEGORY_NOT_DIGIT: ops.CATEGORY_DIGIT,
    ops.CATEGORY_NOT_SPACE: ops.CATEGORY_SPACE,
    ops.CATEGORY_NOT_WORD: ops.CATEGORY_WORD,
}
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
#: Ends at which a match may fail.
_ENDS = ('', '\x00', '\n')


def attacks(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str, str]]:
    """Yield begin, repeated part and end of texts that a pattern may be slow for.

    A begin is text that the pattern matches up to one of its parts; repeated are characters of each of its classes, bodies of
    its repetitions, and the begins, at each of which a search starts again.
    """
    tree = parser.parse(pattern, flags)
    begins = dict.fromkeys(['', *_begins(tree, '')])
    repeated = dict.fromkeys([*_pieces(tree), *begins])
    for begin in begins:
        for part in filter(None, repeated):
            yield from ((begin, part, end) for end in _ENDS)


def _sample(items: Any) -> str:
    """Return a short text that a part of a pattern matches."""
    return ''.join(
        next(iter(_chars(op, of)), '') if op not in _REPEATS else _sample(of[2]) * of[0] for op, of in items
    )


def _chars(op: Any, of: Any) -> list[str]:
    """Return texts for one item: characters of a class, one for each of its members, or the choices of a group."""
    if op is ops.LITERAL:
        return [chr(of)]
    if op in (ops.ANY, ops.NOT_LITERAL):
        return [char for char in _ALPHABET if op is ops.ANY or char != chr(of)][:1]
    if op is ops.IN:
        if of[0][0] is ops.NEGATE:
            return [char for char in _ALPHABET if not any(_is_in(member, char) for member in of[1:])][:1]
        return list(
            dict.fromkeys(next((char for char in _ALPHABET if _is_in(member, char)), '') for member in of)
        )
    if op is ops.BRANCH:
        return [_sample(choice) for choice in of[1]]
    if op in (ops.SUBPATTERN, ops.ATOMIC_GROUP):
        return [_sample(of[-1] if op is ops.SUBPATTERN else of)]
    return []


def _is_in(member: tuple[Any, Any], char: str) -> bool:
    op, of = member
    if op is ops.RANGE:
        return of[0] <= ord(char) <= of[1]
    if op is ops.CATEGORY:
        return not _CATEGORIES[_OTHERS[of]](char) if of in _OTHERS else _CATEGORIES[of](char)
    return ord(char) == of


def _parts(op: Any, of: Any) -> list[Any]:
    """Return the patterns inside of an item."""
    if op is ops.BRANCH:
        return list(of[1])
    if op in _REPEATS:
        return [of[2]]
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [of[1]]
    return [of[-1]] if op is ops.SUBPATTERN else [of] if op is ops.ATOMIC_GROUP else []


def _begins(items: Any, before: str) -> Iterator[str]:
    """Yield the texts up to each repetition, and up to the end."""
    for op, of in items:
        if op in _REPEATS:
            yield before
        for part in _parts(op, of):
            yield from _begins(part, before)
        before += _sample([(op, of)])
    yield before


def _pieces(items: Any, *, repeated: bool = False) -> Iterator[str]:
    """Yield the members of each class, and the bodies of repetitions."""
    for op, of in items:
        if repeated or op is not ops.LITERAL:
            yield from _chars(op, of)
        if op in _REPEATS:
            yield _sample(of[2])
        for part in _parts(op, of):
            yield from _pieces(part, repeated=repeated or op in _REPEATS)
