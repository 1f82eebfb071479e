# SPDX-License-Identifier: Apache-2.0
"""Cursors: positions in the events, which any process of the API can resume from."""

import dataclasses
import datetime
import re

EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - as in the database
_MILLISECOND = datetime.timedelta(milliseconds=1)
_FORM = re.compile(r'1-([0-9a-f]{1,12})-([0-9a-f]{8})-([0-9a-f]{1,12})-([0-9a-f]{8})', re.ASCII)
#: Characters of a cursor that a request may have.
LONGEST = 64


@dataclasses.dataclass(frozen=True)
class Cursor:
    """A position. ``time``: by the clock of the database, when a process had looked for changes; all before were sent.

    ``hub`` and ``look`` say which process, and which of its looks: there it resumes without repetition. ``census``: digest of
    what the caller sees of rows whose deletion leaves no trace.
    """

    time: datetime.datetime
    hub: str
    look: int
    census: str

    def __str__(self) -> str:
        return f'1-{(self.time - EPOCH) // _MILLISECOND:x}-{self.hub}-{self.look:x}-{self.census}'


def parse(text: str) -> Cursor | None:
    """Return the cursor, or None for a text that is none."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    try:
        time = EPOCH + int(match[1], 16) * _MILLISECOND
    except OverflowError:
        return None
    return Cursor(time, match[2], int(match[3], 16), match[4])
