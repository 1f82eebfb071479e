#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Let the very first run of the tests share them out evenly: stestr knows what tests take only when it has run them.

tools/spread.py seed    a repository of stestr (.stestr) that knows nothing yet knows what tools/times.txt says
tools/spread.py write   tools/times.txt says what slow tests took in the last run here
"""

import dbm.dumb
import pathlib
import sys

FILE = pathlib.Path(__file__).with_name('times.txt')
KNOWN = pathlib.Path('.stestr/times.dbm')
#: Seconds from which a test is slow.
_SLOW = 4.0


def seed() -> None:
    """Times are known, unless some were already."""
    if KNOWN.with_suffix('.dbm.dat').exists():
        return
    KNOWN.parent.mkdir(exist_ok=True)
    with dbm.dumb.open(str(KNOWN)) as times:
        for line in FILE.read_text().splitlines():
            name, _, seconds = line.rpartition(' ')
            times[name] = seconds


def write() -> None:
    """The file has a line for each slow test: its name and seconds."""
    with dbm.dumb.open(str(KNOWN), 'r') as times:
        found = {name.decode(): float(times[name]) for name in times}
    FILE.write_text(''.join(f'{name} {seconds:.0f}\n' for name, seconds in sorted(found.items()) if seconds >= _SLOW))


if __name__ == '__main__':
    try:
        {'seed': seed, 'write': write}[sys.argv[1]]()
    except (IndexError, KeyError):
        sys.exit(__doc__)
