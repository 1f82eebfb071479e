# SPDX-License-Identifier: Apache-2.0
"""Checks of backend leases: one process relies on each, and only its holder works.

A process relies on its lease for 0.8 of it, by a clock that nobody sets; others take it when it is over by their own
clocks. So two rely on one at once only if their clocks, at any time, were further apart than a fifth of the lease. A
report is never stored without the lease: the transaction that stores it looks.
"""

from manila_lite.tests.simulation import environment
from manila_lite.tests.simulation.rows import seconds

#: Fraction of the lease by which clocks may be apart.
APART = 0.2


def works(process):
    """Say whether the process is one that works at its backend."""
    end = process.manager and process.manager._ready_until
    return bool(end) and not end.is_set() and relies(process)


def relies(process):
    """Say whether the process relies on the lease of its backend."""
    return (
        not process.dead
        and process.manager is not None
        and process.manager.backend_lease._until > process.baton.now
    )


class Leases:
    """The leases as they are in the table, and the checks of each commit and driver call."""

    def __init__(self, model):
        self._model = model
        self._baton = model.baton
        self.rows = {}
        self._had = {}  # by name of a process: when it last had the lease, if it has it no more
        self._begun = {}  # by thread: begin of its report,
        self._asked = {}  # and when it asked the backend for that
        self._busy = set()  # threads with a claim
        self._robbed = (
            set()
        )  # names of processes whose lease another with a clock apart took, until they have it
        self._taken = {}  # by backend: when its holder took the lease
        self._ready = {}  # by name of a process: when it made its backend ready
        self.reported = {}  # by backend: when it was asked for the last report that was stored

    def _apart(self, one, other):
        """Say whether clocks of the two may disagree about the end of a lease."""
        times = (*one.offsets, *other.offsets)
        return max(times) - min(times) > APART * self._model.conf.lease

    def _holds(self, process):
        """Say whether the process has the lease, or may think so since clocks are apart."""
        lease = self.rows.get(process.host)
        return process.name in self._robbed or (lease is not None and lease.owner == process.name)

    # Commits ------------------------------------------------------------------------------------------

    def committed(self, task, operations, pools):
        """Check the leases, claims and reports of a commit; ``operations`` and ``pools`` are those before it."""
        before, self.rows = self.rows, self._model.table.leases()
        for host, lease in self.rows.items():
            if host in before and before[host] != lease:
                self._changed(task, before[host], lease)
        self.alone()
        for operation_id, row in self._model.rows.items():
            earlier = operations.get(operation_id)
            if row.topic == 'share' and row.owner and (earlier is None or earlier.owner != row.owner):
                self._claims(task, row.host)
        for host, pool in self._model.pools.items():
            if host not in pools or pools[host].generation != pool.generation:
                self._stored(task, host.partition('#')[0])

    def _claims(self, task, host):
        self._must(self._holds(task.process), f'{task.name} claimed work of {host} and has not its lease')
        self._must(
            self._ready.get(task.process.name, -1.0) >= self._taken.get(host, 0.0)
            or self.rows[host].owner != task.process.name,
            f'{task.name} claimed work of {host}, which is not ready',
        )

    def _changed(self, task, before, lease):
        self._baton.note(f'lease of {lease.host}: {before.owner} -> {lease.owner}, until {lease.expires_at}')
        if lease.owner != before.owner:
            self._passed(task, before, lease)
        if before.owner is None:
            return
        holder = self._model.processes[before.owner]
        if lease.owner == before.owner or lease.owner is None:
            self._must(
                task.process is holder, f'{task.name} changed the lease of {before.owner} at {lease.host}'
            )
        ends = seconds(before.expires_at) - environment.EPOCH.timestamp() - holder.offset
        undisturbed = self._model.faults.last < ends - self._model.conf.lease and not self._apart(
            holder, task.process
        )
        lost = lease.owner is not None and ends < self._baton.now
        self._must(
            not (undisturbed and lost) or holder.dead,
            f'{before.owner} had all that it needs to renew the lease of {lease.host} in time, and did not',
        )

    def _passed(self, task, before, lease):
        if lease.owner and before.owner and self._apart(self._model.processes[before.owner], task.process):
            self._robbed.add(before.owner)
        self._robbed.discard(lease.owner)
        self._had[before.owner] = self._taken[lease.host] = self._baton.now
        if lease.owner is None:
            busy = [one.name for one in self._busy if not one.ended and one.process is task.process]
            self._must(
                not busy, f'the lease of {lease.host} is given up, and there are still {", ".join(busy)}'
            )

    def left(self, process):
        """Return the seconds until the lease of its backend is over, by the clock of the process."""
        now = environment.EPOCH.timestamp() + self._baton.now + process.offset
        return max(0.0, seconds(self.rows[process.host].expires_at) - now)

    def _stored(self, task, host):
        self._must(
            self.rows[host].owner == task.process.name,
            f'{task.name} reported capacity of {host} and has not its lease',
        )
        self.reported[host] = self._asked.get(task, -1.0)

    def alone(self):
        """Check that no two processes rely on the lease of one backend."""
        relying = {}
        for one in self._model.processes.values():
            if relies(one):
                for other in relying.setdefault(one.host, []):
                    self._must(
                        self._robbed & {one.name, other.name},
                        f'{one.name} and {other.name} both rely on the lease of {one.host}',
                    )
                relying[one.host].append(one)

    def gave_up(self, process, began):
        """Check that the process, which ended in peace since ``began``, has given its lease up."""
        lease = self.rows.get(process.host)
        undisturbed = self._model.faults.last < began
        self._must(
            not undisturbed or lease is None or lease.owner != process.name,
            f'{process.name} ended and keeps its lease',
        )

    # Calls of the driver ------------------------------------------------------------------------------

    def claimed(self, task):
        """Note that the thread works on a claim."""
        self._busy = {one for one in self._busy if not one.ended} | {task}

    def ready(self):
        """Note that the process has made its backend ready."""
        self._ready[self._baton.current.process.name] = self._baton.now

    def called(self, what, host):
        """Check a call of the driver: its thread has a claim."""
        task = self._baton.current
        self._must(
            task in self._busy and task.process.host == host, f'{what} at {host} was called by {task.name}'
        )
        self.alone()

    def begins_report(self):
        """Note that the thread begins a report."""
        self._begun[self._baton.current] = self._baton.now

    def asked(self, host):
        """Check that the thread's process had the lease when it began its report, or since."""
        task = self._baton.current
        had = self._holds(task.process) or self._had.get(task.process.name, -1.0) >= self._begun[task]
        self._must(had, f'{task.name} asked for the capacity of {host} and has not its lease')
        self._asked[task] = self._baton.now
        self.alone()

    def _must(self, truth, what):
        self._model.must(truth, what)
