# SPDX-License-Identifier: Apache-2.0
"""Faults and their times, by the seed. Each history has some kinds of faults and lacks others."""

STATEMENT = ('cut', 'locked', 'refused', 'stalled', 'unsure')
PROCESS = ('killed', 'frozen', 'jumped', 'stopped')


class Faults:
    """Faults by the seed, until ``off``."""

    def __init__(self, rng, lease):
        self._rng = rng
        self._lease = lease
        self.on = True
        self._rates = {kind: rng.choice((0, 0, 0.01, 0.05, 0.3)) for kind in STATEMENT}
        self._rates |= {kind: rng.choice((0, 0, 0.004, 0.02)) for kind in PROCESS}
        self._left = dict.fromkeys(STATEMENT, 6) | dict.fromkeys(PROCESS, 3)
        #: Rates of wake-ups that are lost, and that come twice.
        self.lost, self.twice = rng.choice((0, 0.3, 1)), rng.choice((0, 0.3))
        self.last = -1000.0  # time of the last fault
        self.now = lambda: 0.0
        #: Functions that let a process suffer a fault, by its kind.
        self.befall = {}

    def off(self):
        """Stop all faults except lost wake-ups."""
        self.on = False

    def disturbed(self, more=0.0):
        """Note that faults have an effect until now, or for so many seconds more."""
        self.last = max(self.last, self.now() + more)

    def long(self):
        """Return seconds that may be longer than a lease."""
        return self._rng.uniform(0.1, 2.2) * self._lease

    def at_statement(self, process, what):
        """Return the fault of the statement, or None."""
        if process.immune or not self.on:
            return None
        kind = self._rng.choice(STATEMENT)
        if (kind == 'unsure') and what != 'COMMIT':
            return None
        return kind if self._drawn(kind) else None

    def at_point(self, process):
        """Let the process suffer a fault, perhaps."""
        if process.immune or not self.on:
            return
        kind = self._rng.choice(PROCESS)
        if self._drawn(kind):
            self.befall[kind](process)

    def _drawn(self, kind):
        rate = self._rates[kind]
        if not rate or not self._left[kind] or self._rng.random() >= rate:
            return False
        self._left[kind] -= 1
        self.disturbed()
        return True
