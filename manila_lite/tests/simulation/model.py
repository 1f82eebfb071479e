# SPDX-License-Identifier: Apache-2.0
"""Facts about operations beside the table: claims, work done at the backend, ends written by plans."""

import contextlib
import dataclasses

from manila_lite.tests.simulation import invariants
from manila_lite.tests.simulation.checks import Checks


@dataclasses.dataclass
class Facts:
    """An operation, beside its row. ``number`` is its name, the same in each run of a seed."""

    number: int
    claims: int = 0  # number of its claims,
    claim_of: dict = dataclasses.field(default_factory=dict)  # and of the last one of each process
    held: float = 0.0  # when its lease was last written
    asked: int = 0  # the commit at which it was last requested,
    began: int = 0  # and its first step last begun
    made: set = dataclasses.field(default_factory=set)  # its steps that are done at the backend
    given_up: set = dataclasses.field(default_factory=set)  # steps whose undoing failed for good
    ended: list = dataclasses.field(default_factory=list)  # ends that its plan wrote
    unreadable: bool = False
    met: str = ''  # last fault of the thread that worked on it


@dataclasses.dataclass
class Worker:
    """One thread's work on one claim."""

    operation_id: str
    claim: int
    mutex_key: str
    lane: str
    most: int
    busy: bool = False  # a step is under way
    last: str = 'ok'  # result of its last step
    sent: str = ''  # its direction when it asked to pass the work on
    late: int = 0  # steps that it began after the loss of its claim
    released: bool = False  # its process has given up the claim
    well: tuple = ()  # the step that succeeded, until that is saved
    cut: bool = False  # it lost its connection


class Run:
    """A step in progress."""

    def __init__(self, model, worker, at, way):
        self._model, self._worker, self._at, self._way = model, worker, at, way

    def over(self):
        """Note that the thread has left the backend."""
        self._worker.busy = False

    def end(self, outcome, nothing=False):
        """Note the result of the step. ``nothing``: it has changed nothing."""
        self._worker.last = outcome
        self._worker.well = (self._at, self._way) if outcome == 'ok' else ()
        facts = self._model.facts[self._worker.operation_id]
        if self._model.is_late(self._worker):
            return  # its successor decides the state of the step
        if self._way == 'do':
            facts.made |= set() if nothing else {self._at}
        elif outcome == 'ok':
            facts.made.discard(self._at)
        elif outcome == 'final' or self._model.is_last_try(self._worker):
            facts.given_up.add(self._at)


class Model(Checks):
    """The checks of each commit, of each claim of a thread, and of each step; violations go to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        super().__init__(baton, table, faults, conf)
        self.facts = {}
        self.workers = {}  # by thread
        self.groups = {}  # by thread: the operations for which it writes, of threads of its process
        self.commits = 0
        self.asking = False  # a user asks for an operation that may be open

    def name_of(self, operation_id):
        """Return the operation's name, the same in each run of the seed."""
        return f'operation {self.facts[operation_id].number}'

    def expect(self, truth, operation_id, what):
        """Let the history fail unless ``truth``."""
        if not truth:
            self.baton.fail(f'{self.name_of(operation_id)}: {what}')

    def write(self, task, what, operation_id):
        """Note a write, which counts when it is committed."""
        self.pending.setdefault(task, []).append((what, operation_id))

    def met(self, fault):
        """Note a fault between the running thread and the database."""
        task = self.baton.current
        worker = self.workers.get(task)
        if worker is None or fault not in ('cut', 'locked', 'refused'):
            return
        for operation_id in self.groups.get(task) or (worker.operation_id,):
            # Its own transaction is repeated after a conflict.
            self.worker_on(task, operation_id).cut |= fault == 'cut'
            self.facts[operation_id].met = fault

    def worker_on(self, task, operation_id):
        """Return the thread's work on a claim, or that of a thread of its process for which it writes."""
        own = self.workers.get(task)
        if own is None or own.operation_id == operation_id or operation_id not in self.groups.get(task, ()):
            return own
        return next(
            worker
            for one, worker in self.workers.items()
            if one.process is task.process and not one.ended and worker.operation_id == operation_id
        )

    @contextlib.contextmanager
    def group(self, operation_ids):
        """Let the running thread write for all these operations inside the block."""
        task = self.baton.current
        self.groups[task] = tuple(operation_ids)
        try:
            yield
        finally:
            del self.groups[task]

    def sent(self, task, way):
        """Note that the step asks to pass the operation on."""
        self.workers[task].sent = way

    def is_late(self, worker):
        """Say whether the thread has lost its claim."""
        row, facts = self.rows[worker.operation_id], self.facts[worker.operation_id]
        return row.owner is None or facts.claims != worker.claim

    def is_last_try(self, worker):
        """Say whether the step is not tried again if it fails."""
        return self.rows[worker.operation_id].attempts >= self.conf.max_attempts

    def worker_started(self, task, op, most):
        """Note that a thread works on a claim, in a lane with at most ``most`` threads."""
        self.workers = {one: worker for one, worker in self.workers.items() if not one.ended}
        # Its process may have lost the claim since.
        claim = self.facts[op.id].claim_of[task.process.name]
        self.workers[task] = Worker(op.id, claim, op.mutex_key, op.lane, most)

    def begun(self, task, work, topic, at, way):
        """Note the begin of a step, after its checks."""
        worker = self.workers[task]
        invariants.step_begun(self, worker, topic, at, way)
        invariants.no_other_thread(self, task, worker)
        worker.busy = True
        if (at, way) == (0, 'do') and not self.is_late(worker):
            self.facts[worker.operation_id].began = self.commits
        return Run(self, worker, at, way)

    def committed(self, task):
        """Read the table after a commit, and check all changes."""
        before, self.rows = self.rows, self.table.read()
        self.commits += 1
        for operation_id in self.groups.get(task) or (
            [self.workers[task].operation_id] if task in self.workers else ()
        ):
            self.worker_on(task, operation_id).well = ()
        written = self.pending.pop(task, [])
        for operation_id in self.rows:
            if operation_id not in before:
                self.facts[operation_id] = Facts(len(self.facts), asked=self.commits)
        for operation_id, row in before.items():
            self.expect(operation_id in self.rows, operation_id, 'is lost')
            if self.rows.get(operation_id, row) != row:
                invariants.row_changed(self, task, row, self.rows[operation_id], written)
        for what, operation_id in written:
            invariants.written(self, task, before.get(operation_id), what)
