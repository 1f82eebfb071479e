# SPDX-License-Identifier: Apache-2.0
"""The results of the last whole run of the matrix: results.tsv, from which the documentation has its tables."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).with_name('results.tsv')
#: Begin of the line with the date and the counts, and of the line with the title of a table.
_TOTALS, _TITLE = '# ', '## '


@dataclasses.dataclass
class Table:
    """A table of cells. The first two columns are the operation and the place."""

    title: str
    heads: list[str]
    rows: list[list[str]]


def write(totals: str, tables: Iterable[Table]) -> None:
    """Replace the file."""
    lines = [_TOTALS + totals]
    for table in tables:
        lines += [_TITLE + table.title, *('\t'.join(row).rstrip('\t') for row in (table.heads, *table.rows))]
    FILE.write_text('\n'.join(lines) + '\n')


def read() -> tuple[str, list[Table]]:
    """Return the line with the date and the counts, and the tables."""
    totals, *lines = FILE.read_text().splitlines()
    tables: list[Table] = []
    for line in lines:
        if line.startswith(_TITLE):
            tables.append(Table(line.removeprefix(_TITLE), [], []))
        elif not tables[-1].heads:
            tables[-1].heads = line.split('\t')
        else:
            cells = line.split('\t')
            tables[-1].rows.append(cells + [''] * (len(tables[-1].heads) - len(cells)))
    return totals.removeprefix(_TOTALS), tables
