# SPDX-License-Identifier: Apache-2.0
"""The progress of a copy of several shares, by the figures of each."""

from collections.abc import Sequence

from manila_lite import values

_ALL = 100


def of_all(shares: Sequence[tuple[int, values.MigrationProgress]]) -> values.MigrationProgress:
    """Return the progress over all shares. Each has its size in GiB, and its own progress.

    Nobody knows yet how much is in shares whose copy has not begun: they are taken to be as full as the others. The number of
    all files is only told when it is known.
    """
    size = sum(size for size, _ in shares)
    percent = int(sum(size * one.percent for size, one in shares) / max(size, 1))
    known = [
        (size, one.bytes_done or 0, one.bytes_total) for size, one in shares if one.bytes_total is not None
    ]
    if not known:
        return values.MigrationProgress(percent)
    done = sum(done for _, done, _ in known)
    total = sum(total for _, _, total in known) * size // max(sum(size for size, _, _ in known), 1)
    if percent < _ALL:
        total = max(total, done + 1)  # else all bytes would be there beside a percentage below 100
    files = [(one.done or 0, one.total) for _, one in shares if one.total is not None]
    return values.MigrationProgress(
        percent,
        done,
        total,
        sum(done for done, _ in files) if files else None,
        sum(total for _, total in files) if len(files) == len(shares) else None,
    )
