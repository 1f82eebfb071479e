# SPDX-License-Identifier: Apache-2.0
"""Parser for pairs as Python clients write them: ``{'a': 'b', 'c': 1}``. Nothing is nested, and nothing is evaluated.

``ast.literal_eval`` is unsafe for input of clients: it counts its depth for all threads together, so that input read in
one thread makes it fail in others, with an error that does not name the input.
"""

import re

_SPACE = r'[ \t\r\n]*'
_SCALAR = r"""[uU]?'(?:[^'\\\n]|\\.)*'|[uU]?"(?:[^"\\\n]|\\.)*"|-?[0-9]{1,20}|True|False"""
_PAIR = re.compile(rf'{_SPACE}({_SCALAR}){_SPACE}:{_SPACE}({_SCALAR}){_SPACE}', re.DOTALL)
_ESCAPE = re.compile(r'\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|.)', re.DOTALL)
_MEANT = {
    '\n': '',
    '\\': '\\',
    "'": "'",
    '"': '"',
    'a': '\a',
    'b': '\b',
    'f': '\f',
    'n': '\n',
    'r': '\r',
    't': '\t',
    'v': '\v',
}
_WORDS = {'True': True, 'False': False}

Scalar = str | int | bool


def pairs(text: str) -> dict[Scalar, Scalar]:
    """Return the pairs; the last of several with one key wins.

    :raises ValueError: the text is anything else.
    """
    inner = text.strip(' \t\r\n')
    if not (len(inner) > 1 and inner[0] == '{' and inner[-1] == '}'):
        raise ValueError('is not in braces')
    known: dict[Scalar, Scalar] = {}
    index, end = 1, len(inner) - 1
    while pair := _PAIR.match(inner, index, end):
        if inner[pair.end()] != ',' and pair.end() != end:
            break
        known[_scalar(pair[1])] = _scalar(pair[2])
        index = pair.end() + 1
    if inner[index:end].strip(' \t\r\n'):
        raise ValueError(f'cannot be read from character {index} on')
    return known


def _scalar(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if text[-1] not in '\'"':
        return int(text)
    return _ESCAPE.sub(_meant, text.lstrip('uU')[1:-1])


def _meant(escape: re.Match[str]) -> str:
    code: str = escape[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code in 'xuUN01234567':
        raise ValueError(f'{escape[0]} is not an escape of one character')
    return str(_MEANT.get(code, escape[0]))
