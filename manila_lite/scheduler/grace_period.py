# SPDX-License-Identifier: Apache-2.0
"""Backends that probably take work again soon.

The service is being restarted: it is down, and was up a moment ago. Or the clock of its host is wrong: time services set it.
"""

import dataclasses
from typing import Any

from oslo_utils import timeutils

from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import services
from manila_lite.engine import Work
from manila_lite.scheduler.interface import PoolState

#: Seconds between looks whether a backend is back, or has reported its pools.
LOOK_AGAIN = 0.5


def pools(conn: Connection, work: Work[Any]) -> list[PoolState]:
    """Return the pools of these backends, as if they were up; none for a request older than ``restart_wait`` seconds.

    With all that are up: one of them may have come back since the request was refused.
    """
    wait = work.ctx.conf.scheduler.restart_wait
    if timeutils.is_older_than(work.op.created_at, wait):
        return []
    gone = services.list_backends_just_down(conn, work.ctx.conf.service_down_time, wait)
    return [
        dataclasses.replace(pool, up=True, clock=None)
        for pool in work.service.hosts.pools(conn)
        if pool.up or pool.clock or pool.backend in gone
    ]
