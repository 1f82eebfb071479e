# SPDX-License-Identifier: Apache-2.0
"""What is known of operations beside the table: who claimed them, what was done at the backend, what was written of it."""

import dataclasses

from manila_lite.tests.simulation import invariants


@dataclasses.dataclass
class Known:
    """An operation, beside its row. ``number`` names it the same in each run of a seed."""

    number: int
    claims: int = 0                 # how often it was claimed
    held: float = 0.0               # when its lease was last written
    asked: int = 0                  # at which commit it was last asked for,
    began: int = 0                  # and its first step last begun
    made: set = dataclasses.field(default_factory=set)          # steps that stand at the backend in its room
    given_up: set = dataclasses.field(default_factory=set)      # of which undoing them failed for good
    ended: list = dataclasses.field(default_factory=list)       # what its plan wrote of its end
    spoilt: bool = False
    met: str = ''                   # what last went wrong for who worked on it


@dataclasses.dataclass
class Hand:
    """One thread's work on one claim."""

    ident: str
    claim: int
    serial: str
    lane: str
    most: int
    busy: bool = False              # a step is under way
    last: str = 'ok'                # how its last step ended
    sent: str = ''                  # which way it was when it wanted to pass the work on
    late: int = 0                   # steps that it began after it had lost its claim
    let_go: bool = False            # its process has given up the claim
    well: tuple = ()                # the step that went well, until that is saved
    cut: bool = False               # it lost its connection


class Run:
    """A step under way."""

    def __init__(self, model, hand, at, way):
        self._model, self._hand, self._at, self._way = model, hand, at, way

    def over(self):
        """The thread is no longer at the backend."""
        self._hand.busy = False

    def end(self, outcome, nothing=False):
        """The step ended so. ``nothing``: and has changed nothing."""
        self._hand.last = outcome
        self._hand.well = (self._at, self._way) if outcome == 'ok' else ()
        known = self._model.of[self._hand.ident]
        if self._model.is_late(self._hand):
            return                  # its successor says what stands
        if self._way == 'do':
            known.made |= set() if nothing else {self._at}
        elif outcome == 'ok':
            known.made.discard(self._at)
        elif outcome == 'final' or self._model.is_last_try(self._hand):
            known.given_up.add(self._at)


class Model:
    """Sees each commit, each claim that a thread gets, and each step; what may not be is said to ``baton.fail``."""

    def __init__(self, baton, table, faults, conf):
        self.baton, self.faults = baton, faults
        self.conf = conf
        self.table = table
        self.rows = {}
        self.of = {}
        self.hands = {}             # by thread
        self.pending = {}           # by thread: what was written and not yet committed
        self.processes = {}
        self.commits = 0
        self.asking = False         # somebody asks for what may be open

    def known(self, ident):
        """Name the operation as in each run of the seed."""
        return f'operation {self.of[ident].number}'

    def expect(self, truth, ident, what):
        """The history fails unless it is true."""
        if not truth:
            self.baton.fail(f'{self.known(ident)}: {what}')

    def write(self, task, what, ident):
        """Something is written, and counts when it is committed."""
        self.pending.setdefault(task, []).append((what, ident))

    def met(self, fault):
        """Something went wrong between the thread that runs and the database."""
        hand = self.hands.get(self.baton.current)
        if hand is not None and fault in ('cut', 'locked', 'refused'):
            hand.cut |= fault != 'refused'
            self.of[hand.ident].met = fault

    def sent(self, task, way):
        """The step wants the operation to be passed on."""
        self.hands[task].sent = way

    def is_late(self, hand):
        """Say whether somebody else, or nobody, has the claim that the thread had."""
        row, known = self.rows[hand.ident], self.of[hand.ident]
        return row.owner is None or known.claims != hand.claim

    def is_last_try(self, hand):
        """Say whether the step is not tried again if it fails."""
        return self.rows[hand.ident].attempts >= self.conf.max_attempts

    def handed_over(self, task, op, most):
        """A thread works on a claim, one of so many in its lane at most."""
        self.hands = {one: hand for one, hand in self.hands.items() if not one.ended}
        self.hands[task] = Hand(op.id, self.of[op.id].claims, op.serial, op.lane, most)

    def begun(self, task, work, room, at, way):
        """A step begins."""
        hand = self.hands[task]
        invariants.begun(self, hand, room, at, way)
        invariants.alone(self, task, hand)
        hand.busy = True
        if (at, way) == (0, 'do') and not self.is_late(hand):
            self.of[hand.ident].began = self.commits
        return Run(self, hand, at, way)

    def committed(self, task):
        """The table has changed, perhaps."""
        before, self.rows = self.rows, self.table.read()
        self.commits += 1
        if task in self.hands:
            self.hands[task].well = ()
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
