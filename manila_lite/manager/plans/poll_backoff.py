# SPDX-License-Identifier: Apache-2.0
"""Pauses between looks at a copy that a backend makes: short at first, since a small copy ends soon, then ever longer."""

from manila_lite import errors
from manila_lite.engine import Work
from manila_lite.operation_data.copies import Copying

#: Seconds until the second look, unless the interval is shorter. Each pause is twice as long as the one before.
FIRST = 1.0
#: Doublings after which the pause is longer than any interval.
_ENOUGH = 30


def poll_again(work: Work[Copying], interval: float) -> errors.Again:
    """Return what to raise if the copy is not complete yet. ``interval``: seconds between two looks at a long copy.

    The number of looks is kept with the operation, so that another process goes on with the pauses.
    """
    work.data.looks += 1
    return errors.Again(pause(work.data.looks - 1, interval))


def begin_anew(work: Work[Copying]) -> None:
    """Look soon at the next copy that the step makes."""
    work.data.looks = 0


def pause(looks: int, interval: float) -> float:
    """Return the seconds until the next look, after so many looks before the present one."""
    return float(min(interval, FIRST * 2 ** min(looks, _ENOUGH)))
