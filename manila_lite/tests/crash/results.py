# SPDX-License-Identifier: Apache-2.0
"""The results of the last whole run of the matrix: results.tsv, from which the documentation has its tables."""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Sequence
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


def merged(new: Iterable[Table], operations: Collection[str]) -> list[Table]:
    """Return the tables of the file with the rows of these operations replaced by the new ones."""
    fresh = {table.title: table for table in new}
    tables = []
    for table in read()[1]:
        more = fresh.pop(table.title, Table(table.title, table.heads[:2], []))
        heads = list(dict.fromkeys((*table.heads, *more.heads)))
        kept = [row for row in _under(heads, table) if row[0] not in operations]
        tables.append(Table(table.title, heads, kept + _under(heads, more)))
    return [*tables, *fresh.values()]


def _under(heads: Sequence[str], table: Table) -> list[list[str]]:
    """Return the rows of the table with a cell for each of these heads."""
    rows = (dict(zip(table.heads, row, strict=True)) for row in table.rows)
    return [[cells.get(head, '') for head in heads] for cells in rows]


def totals(tables: Iterable[Table], classes: Iterable[str]) -> str:
    """Return one line about all cells of the tables: how many, how many of each class of problems, and the slowest."""
    cells = [cell for table in tables for row in table.rows for cell in row[2:] if cell]
    found = collections.Counter(word for cell in cells for word in set(cell.split(' ')))
    slowest = max((float(cell.rpartition(', ')[2]) for cell in cells), default=0.0)
    return (
        f'{len(cells)} cells: '
        + ', '.join(f'{found[name.upper()]} {name}' for name in classes)
        + f'; the slowest took {slowest:.1f} s'
    )


def write(totals: str, tables: Iterable[Table]) -> None:
    """Replace the file."""
    lines = [_TOTALS + totals]
    for table in tables:
        lines += [_TITLE + table.title, *('\t'.join(row).rstrip('\t') for row in (table.heads, *table.rows))]
    FILE.write_text('\n'.join(lines) + '\n')


def whole_run() -> str:
    """Return the date of the last whole run."""
    return read()[0].partition(':')[0].partition(',')[0]


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
