# SPDX-License-Identifier: Apache-2.0
"""The time of this host for leases and due times, by which other processes act.

After a jump, the clock of the host is believed only if the database's agrees. Otherwise a wrong clock would put work off by
hours, or would make the leases of all others look expired, until the next heartbeat compares the clocks. When a process starts,
nothing says which of the two is wrong. The earlier one counts: work that is due too early is begun at once.
"""

import datetime

from oslo_log import log
from oslo_utils import timeutils
from sqlalchemy.engine import Connection

from manila_lite.db.core import database_clock
from manila_lite.host import clock

LOG = log.getLogger(__name__)


def wrong_by(conn: Connection, calendar: clock.Calendar) -> float:
    """Return the seconds by which the clock of this host jumped, if the database's clock does not agree; otherwise 0."""
    jump = calendar.jumped_by()
    if jump or not calendar.judged:
        ahead = calendar.wall() - database_clock.time(conn).replace(tzinfo=datetime.UTC).timestamp()
        if not calendar.judged and ahead > clock.JUMP:
            calendar.believe(ahead)
            LOG.warning(
                'The clock of this host is %+.0f s ahead of that of the database, which counts', ahead
            )
            return ahead
        if jump and abs(ahead) > clock.JUMP:
            return jump
        if jump:
            LOG.warning(
                'The clock of this host was set by %+.0f s, and agrees with that of the database', jump
            )
    calendar.believe()
    return 0.0


def now(conn: Connection) -> datetime.datetime:
    """Return the time in UTC. After a jump with which the database disagrees, it goes on as if there had been none."""
    return timeutils.utcnow() - datetime.timedelta(seconds=wrong_by(conn, clock.OF_PROCESS))
