# SPDX-License-Identifier: Apache-2.0
"""Run the matrix, print it as tables, and keep the results of a whole run in results.tsv."""

import argparse
import collections
import datetime
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

import prettytable

from manila_lite.tests.crash import columns, results, truth
from manila_lite.tests.crash.deployment import DATABASES, Deployment, Servers
from manila_lite.tests.crash.matrix import Story

#: Title -> the columns of its table, in order.
TABLES = {
    'At each place': (columns.KILLED, columns.CUT, columns.BROKER),
    'Messages': (columns.DROPPED, columns.DOUBLED),
    'Drivers': (),
}


def table_of(story: Story) -> str:
    """Return the title of the table with the story's cell."""
    return next((title for title, names in TABLES.items() if story.column in names), 'Drivers')


def rows_of(stories: Iterable[Story]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of a table with all these stories."""
    heads: dict[str, None] = {}
    cells: dict[tuple[str, str], dict[str, str]] = collections.defaultdict(dict)
    for story in stories:
        heads[story.column] = None
        cells[story.subject.name, story.where][story.column] = _cell(story)
    return ['operation', 'place', *heads], [
        [*key, *(row.get(head, '') for head in heads)] for key, row in cells.items()
    ]


def _cell(story: Story) -> str:
    marks = sorted({problem.partition(':')[0].upper() for problem in story.problems})
    return ' '.join([*marks, f'{story.state}, {story.seconds:.1f}'])


def tables(stories: Sequence[Story]) -> Iterator[results.Table]:
    """Yield the tables that have cells."""
    for title in TABLES:
        mine = [story for story in stories if table_of(story) == title]
        if mine:
            yield results.Table(title, *rows_of(mine))


def text(stories: Sequence[Story]) -> str:
    """Return the tables for a terminal."""
    drawn = []
    for table in tables(stories):
        picture = prettytable.PrettyTable(table.heads, align='l', max_width=22, title=table.title)
        picture.add_rows(table.rows)
        drawn.append(picture.get_string())
    return '\n\n'.join([*drawn, results.totals(tables(stories), truth.CLASSES)])


def run(names: Iterable[str], database: str, operations: Iterable[str] = ()) -> tuple[list[Story], bool]:
    """Run these columns in one deployment, of all operations or of these, and print the progress. Return their stories, and
    whether all could be run.
    """
    stories: list[Story] = []
    complete = True
    with Servers(database) as servers, Deployment(servers, operations=operations) as deployment:
        for name in names:
            begun = time.monotonic()
            try:
                found = columns.COLUMNS[name](deployment)
            except AssertionError as error:
                print(f'{name}: {error}', file=sys.stderr)
                complete = False
                continue
            stories += found
            print(
                f'{name}: {len(found)} cells in {time.monotonic() - begun:.0f} s', file=sys.stderr, flush=True
            )
            print(*problems(found), sep='', end='', file=sys.stderr, flush=True)
    return stories, complete


def problems(stories: Iterable[Story]) -> Iterator[str]:
    """Yield a line for each thing that was stuck, lost or wrong."""
    for story in stories:
        for problem in story.problems:
            yield f'{story.title()}: {problem}\n'


def main(words: Sequence[str]) -> int:
    """Run the command; 1 if any story was stuck, lost or wrong."""
    parser = argparse.ArgumentParser(prog='tools/crash-matrix', description=__doc__)
    parser.add_argument('--quick', action='store_true', help='only killed processes; nothing is written')
    parser.add_argument(
        '--database', choices=DATABASES, default='postgresql', help='results are written on the first'
    )
    parser.add_argument(
        '--column', action='append', choices=columns.COLUMNS, help='only these columns; nothing is written'
    )
    parser.add_argument(
        '--operation',
        action='append',
        choices=sorted({story.subject.name for story in columns.all_stories()}),
        default=[],
        help='only these operations; their rows of the results are replaced',
    )
    chosen = parser.parse_args(words)
    names = chosen.column or (['killed'] if chosen.quick else columns.COLUMNS)
    stories, complete = run(names, chosen.database, chosen.operation)
    print(text(stories))
    print(*problems(stories), sep='', end='')
    if not complete:
        return 1
    if not (chosen.quick or chosen.column) and chosen.database == 'postgresql':
        if not {columns.KILLED, columns.CUT, columns.BROKER} <= {story.column for story in stories}:
            print('PostgreSQL or RabbitMQ is not installed, so the results are not whole, and not written')
            return 1
        found, when = list(tables(stories)), f'{datetime.datetime.now(datetime.UTC):%Y-%m-%d}'
        if chosen.operation:
            found, when = (
                results.merged(found, chosen.operation),
                f'{results.whole_run()}, single operations {when}',
            )
        results.write(f'{when}: {results.totals(found, truth.CLASSES)}', found)
        print(f'written: {results.FILE}')
    return 1 if any(story.problems for story in stories) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
