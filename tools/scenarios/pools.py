# SPDX-License-Identifier: Apache-2.0
"""A cluster's pools drawn in a terminal: a bar for each, how much is used and free, and the shares in it below."""

_BAR = 24
_MIB, _GIB = 1 << 20, 1 << 30


def draw(title, pools):
    """Return the lines. ``pools``: by its name, the bytes used and free, a word about it, and lines about its shares."""
    width = max(map(len, pools))
    lines = [title]
    for name, (used, free, about, shares) in pools.items():
        lines.append(f' {name:{width}} ▕{bar(used, free)}▏ {amount(used):>8} used, {amount(free):>8} free   {about}'.rstrip())
        lines += [f'   ├─ {share}' for share in shares[:-1]] + [f'   └─ {share}' for share in shares[-1:]]
    return lines


def bar(used, free):
    """Return a bar, with a mark also for the least that is used."""
    full = round(_BAR * used / (used + free)) if used else 0
    return ('█' * max(full, 1 if used else 0)).ljust(_BAR, '░')


def amount(count):
    """Return bytes in MiB or GiB."""
    return f'{count / _GIB:.1f} GiB' if count >= _GIB else f'{count / _MIB:.0f} MiB'
