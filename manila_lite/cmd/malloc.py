# SPDX-License-Identifier: Apache-2.0
"""The C library's memory: threads share two arenas.

By default there are eight for each processor, and what a thread frees in one is of no use for the others: a scheduler that
made 4,000 shares kept 12 MiB more. The interpreter's own lock leaves threads little to quarrel about.
"""

import ctypes

#: The number of the parameter in glibc's malloc.h.
_M_ARENA_MAX = -8
_ARENAS = 2


def share_arenas() -> None:
    """Limit the number of arenas. Call it before there are threads. Other C libraries have none to limit."""
    if mallopt := getattr(ctypes.CDLL(None), 'mallopt', None):
        mallopt(_M_ARENA_MAX, _ARENAS)
