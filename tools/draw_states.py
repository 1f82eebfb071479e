#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write doc/source/contributor/states.rst from the tables of manila_lite/states.py.

Usage: tools/draw_states.py [--check] [ROOT]. With --check nothing is written: exit 1 if the page is old.
"""

import argparse
import pathlib
import sys
from collections.abc import Iterable, Iterator

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))

from manila_lite import states  # noqa: E402 - the tree beside this script, installed or not

HEAD = """\
..
   Written by tools/draw_states.py from manila_lite/states.py: change the tables, then run ``tox -e states``.

Life of each resource
=====================

Each row is a verb: the statuses it starts from, the status while it runs, and where it ends. Nothing
else moves a resource, and ``db/core/transitions.py`` is the only writer.
"""


def title(text: str, mark: str) -> list[str]:
    return ['', text, mark * len(text), '']


def listed(statuses: Iterable[str], none: str = 'nothing') -> str:
    return ', '.join(sorted(statuses)) or none


def table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield from ('.. list-table::', '   :header-rows: 1', '')
    for row in rows:
        yield f'   * - {row[0]}'
        yield from (f'     - {cell}' for cell in row[1:])


def machine_page(machine: states.Machine) -> Iterator[str]:
    """Yield a table of the verbs, then each status with the verb that owns it."""
    yield from title(machine.resource_name.capitalize(), '-')
    yield from (f'Column ``{machine.column}``.', '')
    yield from table([('verb', 'from', 'during', 'when it worked', 'when it failed', 'after a crash'), *(
        (verb.name, listed(verb.allowed, 'nothing: makes the row'), verb.during, verb.ok or 'gone', verb.fail,
         verb.crash.name.lower()) for verb in machine.verbs.values())])
    yield ''
    if machine.born:
        yield f'A new row is {machine.born}: making one takes no work, and neither does removing it.'
    if machine.waits:
        yield f'Nothing runs in {listed(machine.waits)}: it ends when somebody wants it to.'
    if machine.resettable:
        yield f'An administrator may set by hand: {listed(machine.resettable)}.'
    for verb in machine.verbs.values():
        begin = listed(verb.allowed, '(new)').replace(', ', ' | ')
        yield from ('', '::', '', f'    {begin}', f'      --{verb.name}--> {verb.during}',
                    f'        --worked--> {verb.ok or "(gone)"}', f'        --failed--> {verb.fail}')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--check', action='store_true', help='write nothing; exit 1 if the page is out of date')
    parser.add_argument('root', nargs='?', type=pathlib.Path, default=HERE)
    args = parser.parse_args()
    page = args.root / 'doc/source/contributor/states.rst'
    crash = [*title('After a crash', '-'), *(f'* {mark.name.lower()}: {mark.value}.' for mark in states.Crash)]
    lines = [line for machine in states.MACHINES.values() for line in machine_page(machine)]
    text = HEAD + '\n'.join([*lines, *crash]) + '\n'
    if args.check and (not page.exists() or page.read_text() != text):
        print(f'{page}: does not show manila_lite/states.py; run: tox -e states')
        return 1
    if not args.check:
        page.write_text(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
