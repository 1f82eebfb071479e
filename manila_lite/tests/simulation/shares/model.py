# SPDX-License-Identifier: Apache-2.0
"""What is known of shares and pools after each commit, and of what is asked for."""

import collections

from manila_lite.tests.simulation.shares import invariants


class Model:
    """Sees each commit and each change at the backend; what may not be is said to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        self.baton, self.faults = baton, faults
        self.conf = conf
        self.table = table
        self.rows, self.shares, self.pools = {}, {}, {}     # as they stand
        self.limits = {}            # by project: of shares and gigabytes
        self.processes = {}
        self.pending = {}           # as the wire wants it: nothing here
        self.backend = None
        # Shares that were deleted by force while they were made or grew: what the backend is at may come to stand after a
        # report that shows its room as free, until it is deleted. Whoever uses force has to bear that.
        self.forced = set()
        self.instances = {}         # of all shares that ever were: their ids
        self.on_change = bool       # is called when shares or pools have changed
        self.numbers = {}           # of shares, and of operations
        self.seen = collections.Counter()       # what came of requests, and of shares

    def named(self, ident):
        """Name the share, by the id of its instance, as in each run of the seed."""
        return f'share {self.numbers.setdefault(ident, len(self.numbers))}'

    def without_ids(self, text):
        """Return the text, as in each run of the seed."""
        for share, instance in self.instances.items():
            text = text.replace(share, self.named(instance))
        return text

    def known(self, ident):
        """Name the operation as in each run of the seed."""
        row = self.rows[ident]
        return f'{row.kind} of {self.named(row.serial)}'

    def must(self, truth, what):
        """The history fails unless it is true."""
        if not truth:
            self.baton.fail(what)

    def met(self, fault):
        """Something went wrong between the thread that runs and the database."""
        self.seen[fault] += 1

    def handed_over(self, task, op, most):
        """A thread works on a claim."""

    def committed(self, task):
        """The tables have changed, perhaps."""
        before, self.shares, self.rows = self.shares, self.table.shares(), self.table.read()
        self.instances |= {share.share_id: ident for ident, share in self.shares.items()}
        pools, self.pools = self.pools, self.table.pools()
        for ident, share in self.shares.items():
            if share.status == 'deleting' and ident in before and before[ident].status in ('creating', 'extending'):
                self.forced.add(ident)
            if before.get(ident) != share:
                self.baton.note(f'{self.named(ident)} of {share.project}: {share.size} GiB -> {share.target}, {share.status} '
                                f'at {share.host}')
        for ident in [ident for ident in before if ident not in self.shares]:
            self.baton.note(f'{self.named(ident)} is gone')
            self.seen['gone'] += 1
        invariants.within_quota(self)
        invariants.within_room(self, 'a commit')
        if (before, pools) != (self.shares, self.pools):
            self.on_change()

    def backend_changed(self, what):
        """The backend holds something else."""
        invariants.within_room(self, what)
        self.on_change()
