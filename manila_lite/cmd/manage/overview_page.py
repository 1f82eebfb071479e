# SPDX-License-Identifier: Apache-2.0
"""The overview of a service as a page that fits a terminal, and as plain text."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from rich import progress_bar
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from manila_lite.cmd import log_lines
from manila_lite.cmd.manage.command import table
from manila_lite.cmd.manage.overview import Line, Overview

#: Columns of a bar.
_BAR = 16
#: Columns that are cut where not all fit; the others are short.
_CUT = ('operation', 'resource', 'phase', 'host', 'error', 'pool', 'reason', 'request')
#: Lines of a section beside its rows: its heads, and an empty one.
_AROUND = 2


@dataclasses.dataclass(frozen=True)
class _Part:
    """A part of the page. ``heads``: those of its columns, with the width of a terminal from which on each is shown.

    ``bar``: the key of the percentage that has a bar, and the head of the column before it.
    """

    name: str
    heads: tuple[tuple[str, int], ...]
    bar: tuple[str, str] | None = None

    def shown(self, width: int) -> list[str]:
        """Return the heads for this width of a terminal."""
        return [head for head, least in self.heads if width >= least]


_PARTS = (
    _Part(
        'operations',
        (
            ('operation', 0),
            ('resource', 0),
            ('state', 0),
            ('phase', 100),
            ('figures', 140),
            ('rate', 120),
            ('left', 0),
            ('age', 80),
            ('host', 160),
            ('error', 120),
        ),
        ('percent', 'state'),
    ),
    _Part('pools', (('pool', 0), ('GiB used', 0), ('GiB promised', 80), ('backend', 80)), ('used', 'pool')),
    _Part(
        'services',
        (
            ('service', 0),
            ('host', 0),
            ('zone', 120),
            ('state', 0),
            ('heartbeat', 80),
            ('clock', 120),
            ('release', 100),
            ('reason', 100),
        ),
    ),
    _Part(
        'requests',
        (('request', 0), ('status', 0), ('seconds', 0), ('age', 80), ('host', 120), ('request id', 100)),
    ),
)


class Page:
    """The overview for a terminal, of its height and width. ``trouble``: why it is of a time ago."""

    def __init__(self, now: Overview, trouble: str = ''):
        self._now, self._trouble = now, trouble

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield what there is to draw."""
        width, height = options.max_width, options.height or console.height
        heads = [_text(line, 'bold') for line in self._now.summary] + [_text(self._trouble, 'bold red')]
        yield from heads
        lines = [getattr(self._now, part.name) for part in _PARTS]
        rooms = share_out(
            height - len(heads) - _AROUND * len(_PARTS), [max(len(these), 1) for these in lines]
        )
        for part, these, room in zip(_PARTS, lines, rooms, strict=True):
            yield from _draw(part, these, room, width)


def share_out(room: int, wanted: Sequence[int]) -> list[int]:
    """Return how many lines each part gets: what it wants, or, if there is too little room, an even part of what is left."""
    given = [0] * len(wanted)
    left = max(room, 0)
    for sharers, at in zip(
        range(len(wanted), 0, -1), sorted(range(len(wanted)), key=wanted.__getitem__), strict=True
    ):
        given[at] = min(wanted[at], left // sharers)
        left -= given[at]
    return given


def _draw(part: _Part, lines: Sequence[Line], room: int, width: int) -> Iterator[RenderableType]:
    shown = lines if len(lines) <= room else lines[: max(room - 1, 0)]
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style='bold')
    heads = part.shown(width)
    for head in heads:
        drawn.add_column(_text(head.upper()), no_wrap=head not in _CUT)
        if part.bar and part.bar[1] == head:
            drawn.add_column('', no_wrap=True, min_width=_BAR)
            drawn.add_column('', no_wrap=True, justify='right', min_width=4)
    for line in shown:
        drawn.add_row(*(cell for head in heads for cell in _cells(part, line, head)))
    yield drawn
    if not lines:
        yield Text('none')
    elif len(shown) < len(lines):
        yield Text(f'and {len(lines) - len(shown)} more')
    yield Text('')


def _text(text: str, style: str = '') -> Text:
    """Return a text of one line, escaped."""
    return Text(log_lines.escaped(text), style=style, no_wrap=True, overflow='ellipsis')


def _cells(part: _Part, line: Line, head: str) -> Iterator[RenderableType]:
    yield _text(str(line[head]), 'red' if line['is_bad'] else '')
    if part.bar and part.bar[1] == head:
        percent = line[part.bar[0]]
        yield '' if percent is None else progress_bar.ProgressBar(total=100, completed=percent, width=_BAR)
        yield '' if percent is None else f'{percent:.0f} %'


def plain(now: Overview) -> str:
    """Return the overview as text, without anything that steers a terminal."""
    texts = ['\n'.join(now.summary)]
    for part in _PARTS:
        lines: Sequence[Any] = getattr(now, part.name)
        heads = [head for head, _ in part.heads]
        if part.bar:
            key, before = part.bar
            heads.insert(heads.index(before) + 1, key)
            lines = [{**line, key: '' if line[key] is None else f'{line[key]:.0f} %'} for line in lines]
        texts.append(f'{part.name}: {len(lines) or "none"}' + (f'\n{table(heads, lines)}' if lines else ''))
    return '\n\n'.join(texts)
