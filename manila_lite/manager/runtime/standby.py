# SPDX-License-Identifier: Apache-2.0
"""The part of a backend lease that other machines see: each reports itself, and follows the rules of a planned switch."""

import socket

from oslo_log import log

from manila_lite import context
from manila_lite.db.core import host_time
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import backend_machines as rows
from manila_lite.engine import process_names
from manila_lite.workflow.machines import Machines

LOG = log.getLogger(__name__)

#: Seconds between looks at the other machines, and while one that is drained is about to let go.
_LOOK, _LOOK_CLOSELY = 1.0, 0.1
#: Seconds between reports of a machine that is ready to take over.
_SAY = 1.0


class Standby:
    """The membership of this machine in the group of a backend. Only the thread of the lease uses it, except ``say``."""

    def __init__(self, services: context.Services, host: str, owner: str, lease: float):
        self._services = services
        self._host, self._owner, self._lease = host, owner, lease
        self._machine = socket.gethostname()
        self._stage = rows.WAITS
        self._said_at: float = 0.0

    def report(self, conn: Connection, stage: str, now: float, problem: str = '') -> Machines:
        """Report this machine, and return all. ``now`` is a time of any clock that is not set, in seconds.

        A process that waits for another one of this machine reports nothing.
        """
        found = self._read(conn)
        if stage == rows.WAITS and found.attends(self._machine) and not problem:
            stage = rows.READY
        if stage not in (rows.WAITS, rows.READY) or not self._is_double(found):
            rows.report(conn, self._host, self._machine, self._owner, self._lease, stage, problem)
            found = self._read(conn)
        self._stage, self._said_at = stage, now
        return found

    def _is_double(self, found: Machines) -> bool:
        """Say whether another process of this machine that may live has reported it."""
        mine = found.row(self._machine)
        return (
            mine is not None
            and mine.owner != self._owner
            and mine.expires_at > found.now
            and not process_names.is_dead(mine.owner)
        )

    def _read(self, conn: Connection) -> Machines:
        return Machines.of(rows.list_machines(conn, self._host), host_time.now(conn))

    def may_take(self, found: Machines) -> bool:
        """Say whether this machine may take the lease when it is free."""
        return found.may_take(self._machine)

    def must_pass_on(self, found: Machines) -> bool:
        """Say whether this machine, which has the lease, is to give it to another one now."""
        return found.must_pass_on(self._machine)

    def is_wanted(self, conn: Connection) -> bool:
        """Say whether this machine, which has the lease, is still to give it to another one."""
        return self.must_pass_on(self._read(conn))

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        return _LOOK_CLOSELY if self._stage == rows.READY else _LOOK

    def calls(self, now: float, *, holds: bool) -> bool:
        """Say whether the rows of the machines ask for a try of the lease now. ``holds``: this process has it."""
        try:
            with self._services.db.reader() as conn:
                found = self._read(conn)
        except Exception as bad:
            LOG.debug('%s: its machines could not be read: %s', self._host, bad)
            return False
        if holds:
            return self.must_pass_on(found)
        if not found.holder:
            return self.may_take(found)
        return (found.attends(self._machine) or self._stage == rows.READY) and now - self._said_at >= _SAY

    def say(self, stage: str) -> None:
        """Report the stage, if the database answers; else the next report has it."""
        try:
            with self._services.db.writer() as conn:
                rows.set_stage(conn, self._host, self._machine, self._owner, stage)
        except Exception as bad:
            LOG.warning('%s: that this machine %s could not be reported: %s', self._host, stage, bad)

    def end(self) -> None:
        """Report that this machine waits no more."""
        try:
            with self._services.db.writer() as conn:
                rows.end(conn, self._host, self._machine, self._owner)
        except Exception as bad:
            LOG.warning('%s: the end of this share manager could not be reported: %s', self._host, bad)
