# SPDX-License-Identifier: Apache-2.0
"""A share network drawn in a terminal: the server on top, a column for each subnet, its hosts below."""

_WIDTH = 25


def draw(title, inside, columns):
    """Return the lines.

    ``inside``: lines about the server. ``columns``: for each subnet lines about the server in it, its network's name,
    and lines about the network, then of each host; '|' stands for a wire.
    """
    whole = _WIDTH * len(columns)
    box = whole - 4
    return [
        title.center(whole).rstrip(),
        f' ┌{"─" * box}┐',
        *(f' │{line.center(box)}│' for line in inside),
        f' └{_bottom(len(columns))[2:-2]}┘',
        *_rows([column['above'] for column in columns]),
        ''.join(_wire('┷', '━', f' {column["network"]} ') for column in columns),
        *_rows([column['below'] for column in columns]),
    ]


def _bottom(count):
    return ''.join(_wire('┬', '─') for _ in range(count))


def _wire(mark, line, name=''):
    """Return a cell with a line, a mark in its middle and a name at its right end."""
    left = _WIDTH // 2
    gap = '' if line == '─' else ' '
    return (
        f'{gap}{line * (left - len(gap))}{mark}{line * (_WIDTH - left - 1 - len(name) - len(gap))}{name}{gap}'
    )


def _rows(columns):
    """Yield the lines of cells beside each other; columns may have different lengths."""
    for number in range(max(map(len, columns))):
        cells = [column[number] if number < len(column) else '' for column in columns]
        yield ''.join(('│' if cell == '|' else cell).center(_WIDTH) for cell in cells).rstrip()
