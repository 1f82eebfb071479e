# SPDX-License-Identifier: Apache-2.0
"""The progress of a copy of several shares, by the figures of each."""

from collections.abc import Mapping, Sequence

from manila_lite import values

_ALL = 100


def of_all(shares: Sequence[tuple[int, Mapping[str, int]]]) -> values.MigrationProgress:
    """Return the progress over all shares. Each has its size in GiB, and figures as ``values.MigrationProgress`` has them.

    Nobody knows yet how much is in shares whose copy has not begun: they are taken to be as full as the others. The number of
    all files is only told when it is known.
    """
    size = sum(size for size, _ in shares)
    percent = int(sum(size * figures['percent'] for size, figures in shares) / max(size, 1))
    known = [(size, figures) for size, figures in shares if 'bytes_total' in figures]
    if not known:
        return values.MigrationProgress(percent)
    done, total = (sum(figures[name] for _, figures in known) for name in ('bytes_done', 'bytes_total'))
    total = total * size // max(sum(size for size, _ in known), 1)
    if percent < _ALL:
        total = max(total, done + 1)  # else all bytes would be there beside a percentage below 100
    files = [figures for _, figures in shares if 'total' in figures]
    return values.MigrationProgress(
        percent,
        done,
        total,
        sum(figures['done'] for figures in files) if files else None,
        sum(figures['total'] for figures in files) if len(files) == len(shares) else None,
    )
