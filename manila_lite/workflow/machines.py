# SPDX-License-Identifier: Apache-2.0
"""Rules of a planned switch: which machine of a backend with failover is to serve, from the rows of its machines.

An operator drains a machine. That is a flag of its row, and all that a switch needs: each machine reads the rows with its lease
and follows the rules below. So a machine that dies, or is started again, finds what it has to do in the same rows.
"""

import dataclasses
import datetime
from collections.abc import Sequence
from typing import Any

from manila_lite.db.queries import backend_machines as rows
from manila_lite.engine import process_names

#: Seconds for which a report of a machine that is ready counts. It reports itself every second; clocks differ by one.
_FRESH = 4.0


@dataclasses.dataclass(frozen=True)
class Machines:
    """The machines of one backend at a time. ``holder`` has the lease, which may be over; '' if it was given up."""

    rows: Sequence[Any]
    holder: str
    now: datetime.datetime

    @classmethod
    def of(cls, found: Sequence[Any], now: datetime.datetime) -> 'Machines':
        """Return the view of these rows of one backend."""
        owner = next((row.lease_owner for row in found if row.lease_owner), None) or ''
        return cls(found, process_names.machine_of(owner), now)

    @property
    def host(self) -> str:
        """The name of the backend."""
        return str(self.rows[0].backend_host)

    def row(self, machine: str) -> Any:
        """Return the row of the machine, or None."""
        return next((row for row in self.rows if row.machine == machine), None)

    def is_drained(self, machine: str) -> bool:
        """Say whether the machine is drained."""
        row = self.row(machine)
        return row is not None and bool(row.drained)

    def serves(self, machine: str) -> bool:
        """Say whether the machine has the lease, and it is not over."""
        return machine == self.holder and any(
            row.lease_expires_at and row.lease_expires_at > self.now for row in self.rows
        )

    def takers(self, machine: str) -> list[Any]:
        """Return the others that could take over from the machine."""
        return [
            row
            for row in self.rows
            if row.machine != machine and row.expires_at > self.now and not row.drained and not row.problem
        ]

    def may_take(self, machine: str) -> bool:
        """Say whether the machine may take a lease that is free.

        A machine that is drained, or has a problem, takes it only if no other machine can.
        """
        row = self.row(machine)
        return row is None or not (row.drained or row.problem) or not self.takers(machine)

    def attends(self, machine: str) -> bool:
        """Say whether the machine waits for one that is drained, and could take over from it."""
        return self.holder != machine and self.is_drained(self.holder) and not self.is_drained(machine)

    def must_pass_on(self, machine: str) -> bool:
        """Say whether the machine, which has the lease, is drained, and another one is ready at this moment."""
        limit = self.now - datetime.timedelta(seconds=_FRESH)
        return self.is_drained(machine) and any(
            row.stage == rows.READY and row.seen_at > limit for row in self.takers(machine)
        )
