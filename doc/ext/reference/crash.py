# SPDX-License-Identifier: Apache-2.0
"""The results of the crash matrix, from the file that its last whole run wrote."""

from collections.abc import Iterator

from manila_lite.tests.crash import results
from reference import rst

#: The text before each table.
_INTRODUCTIONS = {
    'At each place': 'Where a step is refused, it is the backend (or the scheduler) that refuses, and the operation is undone. '
    '*Written, not committed*: the client gets no answer, finds that nothing was begun, and asks once more.',
    'Messages': 'A lost wake-up is made up for by the poll. A wake-up that comes twice finds nothing to do.',
    'Drivers': 'The driver fails in these ways when it is called. An incomplete or senseless answer may become an error; it '
    'must not be believed, and must not hang the operation.',
}


def lines() -> Iterator[str]:
    """Yield the counts, and a table for each kind of failure."""
    totals, tables = results.read()
    yield f'Last run: {totals}.'
    for table in tables:
        yield from (*rst.heading(table.title, '-'), _INTRODUCTIONS[table.title], '')
        yield from rst.table(table.heads, table.rows)
