# SPDX-License-Identifier: Apache-2.0
"""Drawing of backends side by side in a terminal, one of them with share servers, above the network of its clients."""

_BOX = 44


def draw(title, boxes, home, network, below):
    """Return the lines.

    ``boxes``: lines in the box of each backend, by its name; ``home``: the backend with a wire. ``network``: texts on this
    wire and at the end of the network. ``below``: lines about clients.
    """
    backends = list(boxes)
    middle = backends.index(home) * (_BOX + 1) + _BOX // 2
    address, name = network
    height = max(map(len, boxes.values()))
    return [
        title,
        ''.join(f' {backend.center(_BOX)}' for backend in backends).rstrip(),
        ''.join(f' ┌{"─" * (_BOX - 2)}┐' for _ in backends),
        *_rows([[*lines, *[''] * (height - len(lines))] for lines in boxes.values()]),
        ''.join(f' └{_edge(backend == home)}┘' for backend in backends),
        f'{" " * middle} │ {address}',
        f' {"━" * middle}┷{"━" * (len(backends) * (_BOX + 1) - middle - 2)} {name}',
        *(f'{" " * (_BOX // 4)} {line}' for line in below),
    ]


def _edge(wired):
    """Return the lower edge of a box, with a wire in its middle or none."""
    left = _BOX // 2 - 1
    return f'{"─" * left}{"┬" if wired else "─"}{"─" * (_BOX - 3 - left)}'


def _rows(boxes):
    """Yield lines of boxes side by side, all with the same number of lines."""
    for cells in zip(*boxes, strict=True):
        yield ''.join(f' │{cell.center(_BOX - 2)}│' for cell in cells)
