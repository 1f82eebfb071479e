# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, and when, as the seed says. Each history has some kinds of faults and lacks others."""

STATEMENT = ('cut', 'locked', 'refused', 'stalled', 'unsure')
PROCESS = ('killed', 'frozen', 'jumped', 'stopped')


class Faults:
    """Draws faults. After ``off`` nothing goes wrong any more."""

    def __init__(self, rng, lease):
        self._rng = rng
        self._lease = lease
        self.on = True
        self._rates = {kind: rng.choice((0, 0, 0.01, 0.05, 0.3)) for kind in STATEMENT}
        self._rates |= {kind: rng.choice((0, 0, 0.004, 0.02)) for kind in PROCESS}
        self._left = dict.fromkeys(STATEMENT, 6) | dict.fromkeys(PROCESS, 3)
        #: How much of the news never comes, and comes twice.
        self.lost, self.twice = rng.choice((0, 0.3, 1)), rng.choice((0, 0.3))
        self.last = -1000.0         # when something last went wrong
        self.now = lambda: 0.0
        #: What becomes of a process: by kind of fault.
        self.befall = {}

    def off(self):
        """Nothing goes wrong any more, but for news that is lost."""
        self.on = False

    def disturbed(self, more=0.0):
        """Until now, and for so many seconds, the world is not as it should be."""
        self.last = max(self.last, self.now() + more)

    def long(self):
        """Return seconds that may be longer than a lease."""
        return self._rng.uniform(0.1, 2.2) * self._lease

    def at_statement(self, process, what):
        """Return the fault that the statement meets, or nothing."""
        if process.immune or not self.on:
            return None
        kind = self._rng.choice(STATEMENT)
        if (kind == 'unsure') and what != 'COMMIT':
            return None
        return kind if self._drawn(kind) else None

    def at_point(self, process):
        """Whatever befalls the process does."""
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
