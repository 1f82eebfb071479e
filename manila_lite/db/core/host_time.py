# SPDX-License-Identifier: Apache-2.0
"""The time of this host, for what other processes act on: leases, and when work is due.

A clock that was set wrongly is believed only where the database's agrees with it. Else one jump would put work off by hours, or
make the leases of all others seem to be over, until the next heartbeat compares the clocks.
"""

import datetime
import time
from collections.abc import Callable

from oslo_log import log
from oslo_utils import timeutils
from sqlalchemy.engine import Connection

from manila_lite.db.core import database_clock

LOG = log.getLogger(__name__)
#: Seconds: smaller jumps are believed, and differences from the database's clock that are no larger count as none.
_JUMP = 1.0


def _steady() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class HostTime:
    """A clock that goes on through jumps. Safe for threads.

    ``wall``: the host's clock; ``steady``: seconds of one that is never set.
    """

    def __init__(
        self, wall: Callable[[], datetime.datetime] = timeutils.utcnow, steady: Callable[[], float] = _steady
    ):
        self._wall, self._steady = wall, steady
        self._seen = wall(), steady()

    def now(self, conn: Connection) -> datetime.datetime:
        """Return the time. After a jump it is that of the host if the database agrees, else as if there had been none."""
        wall, steady = self._wall(), self._steady()
        seen_wall, seen_steady = self._seen
        expected = seen_wall + datetime.timedelta(seconds=steady - seen_steady)
        jump = (wall - expected).total_seconds()
        if abs(jump) > _JUMP:
            if abs((wall - database_clock.time(conn)).total_seconds()) > _JUMP:
                return expected
            LOG.warning(
                'The clock of this host was set by %+.0f s, and agrees with that of the database', jump
            )
        self._seen = wall, steady
        return wall


_OF_PROCESS = HostTime()


def now(conn: Connection) -> datetime.datetime:
    """Return the time in UTC, as ``HostTime.now``."""
    if getattr(timeutils, '_override_time', None) is not None:  # the clock of a test
        return timeutils.utcnow()
    return _OF_PROCESS.now(conn)
