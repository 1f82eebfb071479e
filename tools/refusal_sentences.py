#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Update the refusals of the user guide from the notes of tests: tools/refusal_sentences.py [--only] DIRECTORY

DIRECTORY has the notes of tests that ran with MANILA_LITE_TEST_SENTENCES=DIRECTORY (manila_lite/tests/refusals.py).
tools/refusal_sentences.tsv gets one row for each error code and caller, with the shortest of its sentences. Rows of codes
without a note stay; with --only they are deleted.
"""

import argparse
import csv
import json
import pathlib
import sys
from collections.abc import Iterable, Iterator

ROWS = pathlib.Path(__file__).resolve().with_suffix('.tsv')
FIELDS = ('code', 'caller', 'status', 'message')

Row = dict[str, str]


def notes(folder: pathlib.Path) -> Iterator[dict]:
    """Yield the notes."""
    for path in folder.iterdir():
        for line in path.read_text().splitlines():
            yield json.loads(line)


def shortest(noted: Iterable[dict]) -> dict[tuple[str, str], Row]:
    """Return one row for each code and caller: that with the shortest message, of several the first in the alphabet."""
    rows: dict[tuple[str, str], Row] = {}
    for note in noted:
        row = {name: str(note[name]) for name in FIELDS}
        key = row['code'], row['caller']
        if row['message'].isprintable() and (key not in rows or _order(row) < _order(rows[key])):
            rows[key] = row
    return rows


def _order(row: Row) -> tuple[int, str, str]:
    return len(row['message']), row['message'], row['status']


def read(path: pathlib.Path = ROWS) -> list[Row]:
    """Return the rows of the file."""
    with path.open(newline='') as stream:
        return list(csv.DictReader(stream, dialect='excel-tab'))


def write(rows: Iterable[Row], path: pathlib.Path = ROWS) -> None:
    """Write the rows, by code and caller."""
    with path.open('w', newline='') as stream:
        writer = csv.DictWriter(stream, FIELDS, dialect='excel-tab', lineterminator='\n')
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (row['code'], row['caller'])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', action='store_true', help='delete the rows that have no note')
    parser.add_argument('--rows', type=pathlib.Path, default=ROWS, metavar='FILE', help='another file of rows')
    parser.add_argument('folder', type=pathlib.Path, metavar='DIRECTORY')
    asked = parser.parse_args()
    if not asked.folder.is_dir():
        parser.error(f'{asked.folder} is not a directory; run tests with MANILA_LITE_TEST_SENTENCES')
    found = shortest(notes(asked.folder))
    kept = [] if asked.only or not asked.rows.exists() else read(asked.rows)
    write([*found.values(), *(row for row in kept if (row['code'], row['caller']) not in found)], asked.rows)
    print(f'{len(found)} rows are from these tests; the file has {len(read(asked.rows))}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
