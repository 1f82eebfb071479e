# SPDX-License-Identifier: Apache-2.0
"""The time of this host for leases, due times and the order of rows, by which other processes act.

After a jump, the clock of the host is believed only if the database's agrees. Otherwise a wrong clock would put work off by
hours, or would make the leases of all others look expired, until the next heartbeat compares the clocks.
"""

import datetime
import time
from collections.abc import Callable

from oslo_log import log
from oslo_utils import timeutils
from sqlalchemy.engine import Connection

from manila_lite.db.core import database_clock
from manila_lite.host.clock import boottime

LOG = log.getLogger(__name__)
#: Seconds: smaller jumps are believed, and differences from the database's clock that are no larger count as none.
_JUMP = 1.0


class HostTime:
    """A clock that goes on through wrong jumps. Safe for threads.

    ``wall``: returns the seconds of the host's clock; ``steady``: those of a clock that is never set.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = boottime):
        self._wall, self._steady = wall, steady
        self._offset = wall() - steady()

    def wrong_by(self, conn: Connection) -> float:
        """Return the seconds by which the clock of this host jumped, if the database's clock does not agree; otherwise 0."""
        wall = self._wall()
        offset = wall - self._steady()
        jump = offset - self._offset
        if abs(jump) > _JUMP:
            there = database_clock.time(conn).replace(tzinfo=datetime.UTC).timestamp()
            if abs(wall - there) > _JUMP:
                return jump
            LOG.warning(
                'The clock of this host was set by %+.0f s, and agrees with that of the database', jump
            )
        self._offset = offset
        return 0.0

    def jumped_by(self) -> float:
        """Return the seconds by which the clock of this host jumped, until the database's is found to agree; otherwise 0."""
        jump = self._wall() - self._steady() - self._offset
        return jump if abs(jump) > _JUMP else 0.0


_OF_PROCESS = HostTime()


def now(conn: Connection) -> datetime.datetime:
    """Return the time in UTC. After a jump with which the database disagrees, it goes on as if there had been none."""
    return timeutils.utcnow() - datetime.timedelta(seconds=_OF_PROCESS.wrong_by(conn))


def without_jumps() -> datetime.datetime:
    """Return the time in UTC for the columns of rows, without a question to the database.

    After a jump, it goes on as if there had been none, until ``now`` finds that the database agrees.
    """
    return timeutils.utcnow() - datetime.timedelta(seconds=_OF_PROCESS.jumped_by())
