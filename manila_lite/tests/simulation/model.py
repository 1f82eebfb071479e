# SPDX-License-Identifier: Apache-2.0
"""Facts about operations beside the table: claims, work done at the backend, ends written by plans."""

import dataclasses

from manila_lite.tests.simulation import invariants


@dataclasses.dataclass
class Known:
    """An operation, beside its row. ``number`` is its name, the same in each run of a seed."""

    number: int
    claims: int = 0                 # number of its claims
    held: float = 0.0               # when its lease was last written
    asked: int = 0                  # the commit at which it was last requested,
    began: int = 0                  # and its first step last begun
    made: set = dataclasses.field(default_factory=set)          # its steps that are done at the backend
    given_up: set = dataclasses.field(default_factory=set)      # steps whose undoing failed for good
    ended: list = dataclasses.field(default_factory=list)       # ends that its plan wrote
    spoilt: bool = False
    met: str = ''                   # last fault of the thread that worked on it


@dataclasses.dataclass
class Hand:
    """One thread's work on one claim."""

    ident: str
    claim: int
    serial: str
    lane: str
    most: int
    busy: bool = False              # a step is under way
    last: str = 'ok'                # result of its last step
    sent: str = ''                  # its direction when it asked to pass the work on
    late: int = 0                   # steps that it began after the loss of its claim
    let_go: bool = False            # its process has given up the claim
    well: tuple = ()                # the step that succeeded, until that is saved
    cut: bool = False               # it lost its connection


class Run:
    """A step in progress."""

    def __init__(self, model, hand, at, way):
        self._model, self._hand, self._at, self._way = model, hand, at, way

    def over(self):
        """Note that the thread has left the backend."""
        self._hand.busy = False

    def end(self, outcome, nothing=False):
        """Note the result of the step. ``nothing``: it has changed nothing."""
        self._hand.last = outcome
        self._hand.well = (self._at, self._way) if outcome == 'ok' else ()
        known = self._model.of[self._hand.ident]
        if self._model.is_late(self._hand):
            return                  # its successor decides the state of the step
        if self._way == 'do':
            known.made |= set() if nothing else {self._at}
        elif outcome == 'ok':
            known.made.discard(self._at)
        elif outcome == 'final' or self._model.is_last_try(self._hand):
            known.given_up.add(self._at)


class Model:
    """The checks of each commit, of each claim of a thread, and of each step; violations go to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        self.baton, self.faults = baton, faults
        self.conf = conf
        self.table = table
        self.rows = {}
        self.of = {}
        self.executor = {}             # by thread
        self.pending = {}           # by thread: writes that are not committed yet
        self.processes = {}
        self.commits = 0
        self.asking = False         # a user asks for an operation that may be open

    def known(self, ident):
        """Return the operation's name, the same in each run of the seed."""
        return f'operation {self.of[ident].number}'

    def expect(self, truth, ident, what):
        """Let the history fail unless ``truth``."""
        if not truth:
            self.baton.fail(f'{self.known(ident)}: {what}')

    def write(self, task, what, ident):
        """Note a write, which counts when it is committed."""
        self.pending.setdefault(task, []).append((what, ident))

    def met(self, fault):
        """Note a fault between the running thread and the database."""
        hand = self.executor.get(self.baton.current)
        if hand is not None and fault in ('cut', 'locked', 'refused'):
            hand.cut |= fault != 'refused'
            self.of[hand.ident].met = fault

    def sent(self, task, way):
        """Note that the step asks to pass the operation on."""
        self.executor[task].sent = way

    def is_late(self, hand):
        """Say whether the thread has lost its claim."""
        row, known = self.rows[hand.ident], self.of[hand.ident]
        return row.owner is None or known.claims != hand.claim

    def is_last_try(self, hand):
        """Say whether the step is not tried again if it fails."""
        return self.rows[hand.ident].attempts >= self.conf.max_attempts

    def handed_over(self, task, op, most):
        """Note that a thread works on a claim, in a lane with at most ``most`` threads."""
        self.executor = {one: hand for one, hand in self.executor.items() if not one.ended}
        self.executor[task] = Hand(op.id, self.of[op.id].claims, op.serial, op.lane, most)

    def begun(self, task, work, room, at, way):
        """Note the begin of a step, after its checks."""
        hand = self.executor[task]
        invariants.begun(self, hand, room, at, way)
        invariants.alone(self, task, hand)
        hand.busy = True
        if (at, way) == (0, 'do') and not self.is_late(hand):
            self.of[hand.ident].began = self.commits
        return Run(self, hand, at, way)

    def committed(self, task):
        """Read the table after a commit, and check all changes."""
        before, self.rows = self.rows, self.table.read()
        self.commits += 1
        if task in self.executor:
            self.executor[task].well = ()
        written = self.pending.pop(task, [])
        for ident in self.rows:
            if ident not in before:
                self.of[ident] = Known(len(self.of), asked=self.commits)
        for ident, row in before.items():
            self.expect(ident in self.rows, ident, 'is lost')
            if self.rows.get(ident, row) != row:
                invariants.moved(self, task, row, self.rows[ident], written)
        for what, ident in written:
            invariants.written(self, task, before.get(ident), what)
