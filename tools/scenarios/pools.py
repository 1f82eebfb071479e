# SPDX-License-Identifier: Apache-2.0
"""A cluster's pools drawn in a terminal: a bar for each, how much is used and free, and the shares in it below."""

_BAR = 24
_UNITS = ('GiB', 1 << 30, 1), ('MiB', 1 << 20, 0), ('KiB', 1 << 10, 0)


def draw(title, pools):
    """Return the lines. ``pools``: by its name, the bytes used and free, a word about it, and lines about its shares."""
    width = max(map(len, pools))
    lines = [title]
    for name, (used, free, about, shares) in pools.items():
        lines.append(
            f' {name:{width}} ▕{bar(used, free)}▏ {amount(used):>8} used, {amount(free):>8} free   {about}'.rstrip()
        )
        lines += [f'   ├─ {share}' for share in shares[:-1]] + [f'   └─ {share}' for share in shares[-1:]]
    return lines


def bar(used, free):
    """Return a bar, with a mark also for the least that is used."""
    full = round(_BAR * used / (used + free)) if used else 0
    return ('█' * max(full, 1 if used else 0)).ljust(_BAR, '░')


def amount(count):
    """Return bytes in the largest unit that fits."""
    return next(
        (f'{count / size:.{digits}f} {unit}' for unit, size, digits in _UNITS if count >= size), f'{count} B'
    )
