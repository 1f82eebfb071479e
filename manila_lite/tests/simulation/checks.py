# SPDX-License-Identifier: Apache-2.0
"""What each model of a history has: the parts of the simulation call it, whichever kind of history they are in."""

import collections
import contextlib


class Checks:
    """The checks of each commit; violations go to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        self.baton, self.table, self.faults, self.conf = baton, table, faults, conf
        self.rows = {}  # operations by id, as in the table
        self.processes = {}  # by name
        self.pending = {}  # by thread: writes that are not committed yet
        self.seen = collections.Counter()  # of what there was, by its name

    def must(self, truth, what):
        """Let the history fail unless ``truth``."""
        if not truth:
            self.baton.fail(what)

    def met(self, fault):
        """Count a fault between the running thread and the database."""
        self.seen[fault] += 1

    def worker_started(self, task, op, most):
        """Note that a thread works on a claim, in a lane with at most ``most`` threads."""

    def group(self, operation_ids):
        """Let the running thread write for all these operations inside the block."""
        return contextlib.nullcontext()
