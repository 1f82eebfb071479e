# SPDX-License-Identifier: Apache-2.0
"""Make a picture of a browser small: of text on plain colors a palette of 256 keeps all that an eye sees."""

import collections
import struct
import zlib

_SIGNATURE = b'\x89PNG\r\n\x1a\n'
_MOST = 256
#: Bits of each color that are kept: all if the palette has place for all colors, else as many as it has place for.
_BITS = (8, 6, 5, 4, 3)


def _chunks(data):
    at = len(_SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from('>I', data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += length + 12


def _paeth(left, up, corner):
    nearest = min(
        (abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner)
    )
    return nearest[2]


_FILTERS = (
    lambda left, up, corner: 0,
    lambda left, up, corner: left,
    lambda left, up, corner: up,
    lambda left, up, corner: (left + up) // 2,
    _paeth,
)


def _rows(data):
    """Return the width, and the rows of a picture of 8 bits with or without transparency, each a list of colors."""
    found = collections.defaultdict(bytes)
    for kind, text in _chunks(data):
        found[kind] += text
    width, height, depth, kind, *_, interlaced = struct.unpack('>IIBBBBB', found[b'IHDR'])
    if depth != 8 or kind not in (2, 6) or interlaced:
        raise ValueError('not a picture as browsers take them')
    size = 4 if kind == 6 else 3
    raw = zlib.decompress(found[b'IDAT'])
    rows, above = [], bytes(width * size)
    for start in range(0, len(raw), width * size + 1):
        above = _unfiltered(raw[start], raw[start + 1 : start + 1 + width * size], above, size)
        rows.append([above[at : at + 3] for at in range(0, len(above), size)])
    assert len(rows) == height
    return width, rows


def _unfiltered(kind, line, above, size):
    if not kind:
        return line
    row = bytearray(line)
    guess = _FILTERS[kind]
    for at, value in enumerate(line):
        left, corner = (row[at - size], above[at - size]) if at >= size else (0, 0)
        row[at] = (value + guess(left, above[at], corner)) & 255
    return bytes(row)


def _palette(counts):
    """Return a color of the palette for each color; of those that fall together, the most frequent one."""
    for bits in _BITS:
        mask = (255 << (8 - bits)) & 255
        best = {}
        for color, _ in counts.most_common():
            best.setdefault(bytes(part & mask for part in color), color)
        if len(best) <= _MOST:
            return {color: best[bytes(part & mask for part in color)] for color in counts}
    raise AssertionError('nine bits are more than a palette has')


def small(data):
    """Return the picture with a palette."""
    width, rows = _rows(data)
    new = _palette(collections.Counter(color for row in rows for color in row))
    colors = sorted(set(new.values()))
    number = {color: colors.index(kept) for color, kept in new.items()}
    lines = b''.join(b'\0' + bytes(number[color] for color in row) for row in rows)
    head = struct.pack('>IIBBBBB', width, len(rows), 8, 3, 0, 0, 0)
    parts = ((b'IHDR', head), (b'PLTE', b''.join(colors)), (b'IDAT', zlib.compress(lines, 9)), (b'IEND', b''))
    return _SIGNATURE + b''.join(
        struct.pack('>I', len(text)) + kind + text + struct.pack('>I', zlib.crc32(kind + text))
        for kind, text in parts
    )
