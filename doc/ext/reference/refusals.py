# SPDX-License-Identifier: Apache-2.0
"""One refusal per error code and caller, as a test of the API got it, with its next step."""

import csv
import pathlib
from collections.abc import Iterator

from manila_lite.api.http import hints
from reference import rst

ROWS = pathlib.Path(__file__).resolve().parents[3] / 'tools' / 'refusal_sentences.tsv'


def lines() -> Iterator[str]:
    """Yield one table of all codes. A code has a row for each caller that gets another sentence or another step."""
    rows: dict[tuple[str, str, str, str], list[str]] = {}
    with ROWS.open() as stream:
        for row in csv.DictReader(stream, dialect='excel-tab'):
            step = hints.next_step(int(row['status']), row['code'], administrator=row['caller'] == 'admin')
            rows.setdefault((row['code'], row['status'], row['message'], step), []).append(row['caller'])
    yield from rst.table(('Code', 'Caller', 'Message', 'Next'), [
        (rst.code(code), ', '.join(callers), rst.code(message), step)
        for (code, _, message, step), callers in rows.items()], (22, 10, 38, 30))
