# SPDX-License-Identifier: Apache-2.0
"""The clocks of a host: one that is never set, for leases, and the calendar, which can be set wrong."""

import datetime
import time
from collections.abc import Callable

from oslo_utils import timeutils

#: Seconds: smaller jumps of the calendar are believed.
JUMP = 1.0


def boottime() -> float:
    """Return seconds by a clock that is never set, and goes on while the host is suspended, as leases of others do."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Calendar:
    """Compares the calendar with the clock that is never set. Safe for threads.

    ``wall``: returns the seconds of the calendar; ``steady``: those of the other clock.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = boottime):
        self.wall = wall
        self._steady = steady
        self._offset = wall() - steady()
        #: Whether it was compared with the clock of another host.
        self.judged = False

    def jumped_by(self) -> float:
        """Return the seconds by which the calendar was set since it was last right; 0 for a small step."""
        jump = self.wall() - self._steady() - self._offset
        return jump if abs(jump) > JUMP else 0.0

    def believe(self, ahead: float = 0.0) -> None:
        """Take the calendar for right, or for so many seconds ahead."""
        self._offset = self.wall() - self._steady() - ahead
        self.judged = True


OF_PROCESS = Calendar()


def without_jumps() -> datetime.datetime:
    """Return the time in UTC. After a jump, it goes on as if there had been none, until the calendar is believed."""
    return timeutils.utcnow() - datetime.timedelta(seconds=OF_PROCESS.jumped_by())


def timestamp() -> float:
    """Return the time of ``without_jumps`` in seconds since 1970, for patience that outlives a process."""
    return float(timeutils.utcnow_ts(microsecond=True)) - OF_PROCESS.jumped_by()
