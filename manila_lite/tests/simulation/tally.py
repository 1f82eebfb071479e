# SPDX-License-Identifier: Apache-2.0
"""How the operations of many histories ended: where hardly any succeeds, histories show nothing, however good they end."""

import collections

from manila_lite.db.queries import operations

#: Histories from which on operations are judged: all together, and those of each kind.
_ALL, _EACH = 3, 20
#: Of all operations, one in so many has to succeed; of each kind, one in so many histories.
_ONE_IN, _ONCE_IN = 5, 10


class Tally:
    """Counts of operations that succeeded, and of those that ended otherwise, by kind. ``kinds``: those that must succeed."""

    def __init__(self, kinds):
        self._kinds = kinds
        self._histories = 0
        self._done, self._ended = collections.Counter(), collections.Counter()

    def add(self, rows):
        """Count the operations of one more history, by their rows at its end."""
        self._histories += 1
        ended = [row for row in rows if row.state != operations.OPEN]
        self._ended.update(row.kind for row in ended)
        self._done.update(row.kind for row in ended if row.state == operations.DONE)

    def __str__(self):
        parts = [f'{kind} {self._done[kind]} of {self._ended[kind]}' for kind in sorted(self._ended)]
        return f'succeeded: {", ".join(parts) or "nothing"}'

    def refusal(self):
        """Return why these histories show nothing, or None."""
        few = []
        if self._histories >= _ALL and self._done.total() * _ONE_IN <= self._ended.total():
            few.append('operation')
        if self._histories >= _EACH:
            few += [kind for kind in self._kinds if self._done[kind] * _ONCE_IN < self._histories]
        return (
            f'hardly any {" and ".join(few)} succeeded in {self._histories} histories ({self})'
            if few
            else None
        )
