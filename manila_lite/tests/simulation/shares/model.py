# SPDX-License-Identifier: Apache-2.0
"""Facts about shares and pools after each commit, and about requests."""

from manila_lite.tests.simulation.checks import Checks
from manila_lite.tests.simulation.shares import invariants
from manila_lite.tests.simulation.shares.leases import Leases


class Model(Checks):
    """The checks of each commit and of each change at the backend; violations go to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        super().__init__(baton, table, faults, conf)
        self.shares, self.pools = {}, {}  # by id, as in the tables
        self.limits = {}  # by project: limits of shares and gigabytes
        self.backend = None
        # Shares that were deleted by force while they were created or extended: the backend may finish its work after a
        # report that counts their capacity as free, until they are deleted. A user of force has to bear that.
        self.forced = set()
        self.instances = {}  # of all shares that ever existed: their ids
        self.on_change = bool  # called when shares or pools have changed
        self.numbers = {}  # of shares, and of operations
        self.leases = Leases(self)

    def share_name(self, instance_id):
        """Return the share's name, by the id of its instance, the same in each run of the seed."""
        return f'share {self.numbers.setdefault(instance_id, len(self.numbers))}'

    def with_names(self, text):
        """Return the text with names in place of ids, the same in each run of the seed."""
        for share, instance in self.instances.items():
            text = text.replace(share, self.share_name(instance))
        return text

    def name_of(self, operation_id):
        """Return the operation's name, the same in each run of the seed."""
        row = self.rows[operation_id]
        return (
            f'{row.kind} of {self.share_name(row.mutex_key)}'
            if row.mutex_key
            else f'{row.kind} of {row.host}'
        )

    def worker_started(self, task, op, most):
        self.leases.claimed(task)

    def committed(self, task):
        """Read the tables after a commit, and check all changes."""
        before, self.shares = self.shares, self.table.shares()
        operations, self.rows = self.rows, self.table.read()
        self.instances |= {share.share_id: instance_id for instance_id, share in self.shares.items()}
        pools, self.pools = self.pools, self.table.pools()
        for instance_id, share in self.shares.items():
            if (
                share.status == 'deleting'
                and instance_id in before
                and before[instance_id].status in ('creating', 'extending')
            ):
                self.forced.add(instance_id)
            if before.get(instance_id) != share:
                self.baton.note(
                    f'{self.share_name(instance_id)} of {share.project}: {share.size} GiB -> {share.target}, '
                    f'{share.status} at {share.host}'
                )
        for instance_id in [one for one in before if one not in self.shares]:
            self.baton.note(f'{self.share_name(instance_id)} is gone')
            self.seen['gone'] += 1
        invariants.within_quota(self)
        invariants.within_capacity(self, 'a commit')
        self.leases.committed(task, operations, pools)
        if (before, pools) != (self.shares, self.pools):
            self.on_change()

    def backend_changed(self, what):
        """Check the pools after a change at the backend."""
        invariants.within_capacity(self, what)
        self.on_change()
