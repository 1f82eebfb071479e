# SPDX-License-Identifier: Apache-2.0
"""The blocks of a page that a reader types: commands, files, statements of SQL."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

DOC = Path(__file__).resolve().parents[4] / 'doc/source/admin'

_DIRECTIVE = re.compile(r'(?P<indent> *)\.\. (?P<name>[a-z-]+):: *(?P<words>.*)')
_OPTION = re.compile(r' +:(?P<name>[a-z-]+): *(?P<value>.*)')
_LITERAL = re.compile(r'(?P<indent> *)(?!\.\. )\S?.*::')
_PROMPT = re.compile(r'[#$] ')


@dataclasses.dataclass(frozen=True)
class Block:
    """A block. ``language``: '' if it has none; ``caption``: the file that has this content; ``section``: the title above."""

    page: str
    section: str
    language: str
    caption: str
    text: str

    @property
    def name(self) -> str:
        """Return the file, or the first line: by this tables name the block."""
        return self.caption or self.text.partition('\n')[0].removeprefix('# ').removeprefix('$ ').rstrip(
            '\\ '
        )

    @property
    def commands(self) -> list[str]:
        """Return the commands behind the prompts, each with the lines that continue it. Other lines are what it prints."""
        found: list[str] = []
        for line in self.text.splitlines():
            if _PROMPT.match(line):
                found.append(line[2:])
            elif found and (found[-1].endswith('\\') or line.startswith('  ')):
                found[-1] += f'\n{line}'
        return found


def read(page: str) -> list[Block]:
    """Return all blocks of a page."""
    return list(_blocks(page, (DOC / f'{page}.rst').read_text().splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    section = ''
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if re.fullmatch(r'([=~-])\1{2,}', line):
            section = lines[number - 2]
        elif (found := _DIRECTIVE.fullmatch(line)) and found['name'] == 'code-block':
            body, number = _body(lines, number, len(found['indent']))
            options = {}
            while body and (option := _OPTION.fullmatch(f' {body[0]}')):
                options[option['name']] = option['value']
                body.pop(0)
            yield Block(
                page, section, found['words'], options.get('caption', ''), '\n'.join(body).strip('\n') + '\n'
            )
        elif found := _LITERAL.fullmatch(line):
            body, number = _body(lines, number, len(found['indent']))
            yield Block(page, section, '', '', '\n'.join(body).strip('\n') + '\n')


def _body(lines: list[str], number: int, indent: int) -> tuple[list[str], int]:
    """Return the lines from ``number`` on that are further in, without what they share, and the number of the next line."""
    found = []
    while number < len(lines) and (
        not lines[number] or len(lines[number]) - len(lines[number].lstrip()) > indent
    ):
        found.append(lines[number])
        number += 1
    less = min((len(line) - len(line.lstrip()) for line in found if line), default=0)
    return [line[less:] for line in found], number
