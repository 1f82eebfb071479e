# SPDX-License-Identifier: Apache-2.0
"""Backends that probably take work again soon.

The service is being restarted: it is down, and was up a moment ago. Or the clock of its host is wrong: time services set it.
"""

import dataclasses
from typing import Any

from manila_lite.db.core import host_time
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import services
from manila_lite.engine import Work
from manila_lite.scheduler.interface import PoolState

#: Seconds between looks whether a backend is back, or has reported its pools.
LOOK_AGAIN = 0.5


def pools(conn: Connection, work: Work[Any]) -> list[PoolState]:
    """Return the pools of these backends, as if they were up; none for a request older than ``restart_wait`` seconds.

    With all that are up: one of them may have come back since the request was refused. The pools are read anew for it, and
    after the list of those that are down.
    """
    wait = work.ctx.conf.scheduler.restart_wait
    if (host_time.now(conn) - work.op.created_at).total_seconds() > wait:
        return []
    gone = services.list_backends_just_down(conn, work.ctx.conf.service_down_time, wait)
    hosts = work.service.hosts
    return [
        dataclasses.replace(pool, up=True, clock=None)
        for pool in hosts.pools(conn, hosts.now())
        if pool.up or pool.clock or pool.backend in gone
    ]
