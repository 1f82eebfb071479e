# SPDX-License-Identifier: Apache-2.0
"""Work that grows faster than its input, by the processor time of a thread: a busy machine does not change it."""

import time
from collections.abc import Callable
from typing import Any

#: Sizes of the first look; what costs less than the floor (seconds) at all of them is not measured.
SIZES = (32, 128, 512, 2048, 8192)
#: How much more four times the input may cost. It is 4 for linear work, and 16 for quadratic work.
MOST = 8.0
#: Times that a cost is measured, of which the least counts; and tries to find a growth that is small enough.
_ROUNDS, _TRIES = 3, 3


def growth(
    do: Callable[[Any], Any],
    make: Callable[[int], Any],
    floor: float = 0.0005,
    sizes: tuple[int, ...] = SIZES,
) -> float:
    """Return by how much more four times the input costs; 0.0 if even the largest input costs nearly nothing.

    ``make`` returns the input of a size, ``do`` works on it. ``floor``: seconds of the processor that are nothing.
    """
    empty = _cost(do, make(0), 1)
    for size in sizes:
        if _cost(do, make(size), 1) - empty > floor:
            return min(_ratio(do, make, size, floor) for _ in range(_TRIES))
    return 0.0


def _ratio(do: Callable[[Any], Any], make: Callable[[int], Any], size: int, floor: float) -> float:
    empty = _cost(do, make(0), _ROUNDS)
    least, twice, most = (
        max(_cost(do, make(size // part), _ROUNDS) - empty, floor / 32) for part in (4, 2, 1)
    )
    return min(most / least, (most / twice) ** 2) if most > floor else 0.0


def _cost(do: Callable[[Any], Any], given: Any, rounds: int) -> float:
    costs = []
    for _ in range(rounds):
        began = time.thread_time()
        do(given)
        costs.append(time.thread_time() - began)
    return min(costs)
