# SPDX-License-Identifier: Apache-2.0
"""Run the whole matrix, print it as tables and keep it in doc/source/contributor/crash-matrix.rst."""

import argparse
import collections
import datetime
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import prettytable

from manila_lite.tests.crash import columns, truth
from manila_lite.tests.crash.deployment import DATABASES, Deployment, Servers
from manila_lite.tests.crash.matrix import AT_MOST, PATIENCE, Story

PAGE = Path(__file__).resolve().parents[3] / 'doc/source/contributor/crash-matrix.rst'

HEAD = f"""\\
..
   Written by tools/crash-matrix: run it again after a change of the plans, their steps or the rows of
   manila_lite/tests/crash/subjects.py.

The crash matrix
================

API, scheduler and two backends run as processes of their own on PostgreSQL and RabbitMQ. Each cell of the tables is an
operation that was brought to a place of its way, where something then died, was cut off or answered nonsense. It tells
the state in which the resource ended, and after how many seconds. What is not at its end when nothing has moved for
{PATIENCE:g} s, or after {AT_MOST:g} s, is stuck.

Looked at after each: nothing is transient and no operation open; the backend holds what the rows tell of and nothing else;
the usage of the quota is what there is; who asked can read why it failed. Made again, and written here, by::

    tools/crash-matrix              # all of it: some minutes
    tools/crash-matrix --quick      # only killed processes; nothing is written
    tools/crash-matrix --database mariadb       # nothing is written

``./tools/test`` runs every sixth cell of each operation (``MANILA_LITE_TEST_MATRIX=all`` runs all), and fails when this page is
not of a clean run of all of them. The places are computed from the plans that are registered; an operation without a row in
``manila_lite/tests/crash/subjects.py`` fails there. A process is killed with ``SIGKILL`` and started again by the launcher of
its command; it is brought to its place by a wrapper in the tests, and the product knows nothing of it.
""".replace('\\\n', '', 1)

#: Title -> the columns of its table, in order; and the text before it.
TABLES = {
    'At each place': (columns.KILLED, columns.CUT, columns.BROKER),
    'Messages': (columns.DROPPED, columns.DOUBLED),
    'Drivers': (),
}
_TOLD = {
    'At each place': 'Where a step is refused, it is the backend (or the scheduler) that does so, and the operation is undone. '
                     '*Written, not committed*: the client gets no answer, finds that nothing was begun, and asks once more.',
    'Messages': 'A wake-up that is lost is made up for by the poll, one that comes twice finds nothing to do.',
    'Drivers': 'What the driver does when it is called. What it answers in part, or what makes no sense, may be an error; it '
               'must not be believed, nor hang.',
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
    return ['operation', 'place', *heads], [[*key, *(row.get(head, '') for head in heads)] for key, row in cells.items()]


def _cell(story: Story) -> str:
    marks = sorted({problem.partition(':')[0].upper() for problem in story.problems})
    return ' '.join([*marks, f'{story.state}, {story.seconds:.1f}'])


def totals(stories: Sequence[Story]) -> str:
    """Return one line about all stories."""
    counts = collections.Counter(mark for story in stories for mark in {what.partition(':')[0] for what in story.problems})
    slowest = max((story.seconds for story in stories), default=0.0)
    return f'{len(stories)} cells: ' + ', '.join(f'{counts[name]} {name}' for name in truth.CLASSES) + (
        f'; the slowest took {slowest:.1f} s')


def _tables(stories: Sequence[Story]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    for title in TABLES:
        mine = [story for story in stories if table_of(story) == title]
        if mine:
            yield (title, *rows_of(mine))


def text(stories: Sequence[Story]) -> str:
    """Return the tables for a terminal."""
    tables = []
    for title, heads, rows in _tables(stories):
        table = prettytable.PrettyTable(heads, align='l', max_width=22, title=title)
        table.add_rows(rows)
        tables.append(table.get_string())
    return '\n\n'.join([*tables, totals(stories)])


def page(stories: Sequence[Story]) -> str:
    """Return the page of the documentation."""
    lines = [HEAD, f'Last run: {datetime.datetime.now(datetime.UTC):%Y-%m-%d}. **{totals(stories)}.**']
    for title, heads, rows in _tables(stories):
        lines += ['', title, '-' * len(title), '', textwrap.fill(_TOLD[title], 118), '']
        lines += ['.. list-table::', '   :header-rows: 1', '']
        for row in [heads, *rows]:
            lines.append(f'   * - {row[0]}')
            lines += [f'     - {cell}'.rstrip() for cell in row[1:]]
    return '\n'.join(lines) + '\n'


def run(names: Iterable[str], database: str) -> tuple[list[Story], bool]:
    """Run these columns in one deployment, and print the progress. Return their stories, and whether all could be run."""
    stories: list[Story] = []
    complete = True
    with Servers(database) as servers, Deployment(servers) as deployment:
        for name in names:
            begun = time.monotonic()
            try:
                column_stories = columns.COLUMNS[name](deployment)
            except AssertionError as error:
                print(f'{name}: {error}', file=sys.stderr)
                complete = False
                continue
            stories += column_stories
            print(f'{name}: {len(column_stories)} cells in {time.monotonic() - begun:.0f} s', file=sys.stderr, flush=True)
    return stories, complete


def main(words: Sequence[str]) -> int:
    """Run the command; 1 if any story was stuck, lost or wrong."""
    parser = argparse.ArgumentParser(prog='tools/crash-matrix', description=__doc__)
    parser.add_argument('--quick', action='store_true', help='only killed processes; the page stays as it is')
    parser.add_argument('--database', choices=DATABASES, default='postgresql', help='the page is made on the first')
    chosen = parser.parse_args(words)
    stories, complete = run(['killed'] if chosen.quick else columns.COLUMNS, chosen.database)
    print(text(stories))
    for story in stories:
        for problem in story.problems:
            print(f'{story.title()}: {problem}')
    if not complete:
        return 1
    if not chosen.quick and chosen.database == 'postgresql':
        if not {columns.KILLED, columns.CUT, columns.BROKER} <= {story.column for story in stories}:
            print('PostgreSQL or RabbitMQ is not installed: the page stays as it is')
            return 1
        PAGE.write_text(page(stories))
        print(f'written: {PAGE}')
    return 1 if any(story.problems for story in stories) else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
