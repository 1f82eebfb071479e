# SPDX-License-Identifier: Apache-2.0
"""reStructuredText."""

import re
from collections.abc import Iterable, Iterator, Sequence


def heading(text: str, line: str) -> list[str]:
    """Return a heading underlined with a character."""
    return ['', text, line * len(text), '']


def code(text: str) -> str:
    """Return text as it would be typed."""
    return f'``{text}``'


def plain(text: str) -> str:
    """Return text without any markup: a star emphasises nothing, and host@backend is no mail address."""
    return re.sub(r'([\\*@])', r'\\\1', text)


def codes(texts: Iterable[str]) -> str:
    """Return several of them."""
    return ', '.join(map(code, texts))


def items(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a list of names and values; those without a value are left out."""
    yield from (f':{name}: {value}' for name, value in pairs if value)
    yield ''


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int] = ()) -> Iterator[str]:
    """Yield a table; without ``widths`` all columns are equally wide."""
    yield from ('.. list-table::', '   :header-rows: 1')
    if widths:
        yield f'   :widths: {" ".join(map(str, widths))}'
    yield ''
    for row in (heads, *rows):
        yield from (f'   {"*" if not number else " "} - {cell}'.rstrip() for number, cell in enumerate(row))
    yield ''
