#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Share out the tests evenly in their first run: stestr itself knows the duration of a test only after a run.

tools/spread.py seed    copy the durations in tools/times.txt to a stestr repository (.stestr) without durations
tools/spread.py write   write the durations of the slow tests in the last run here to tools/times.txt
"""

import dbm.dumb
import pathlib
import sys

FILE = pathlib.Path(__file__).with_name('times.txt')
KNOWN = pathlib.Path('.stestr/times.dbm')
#: Seconds from which a test is slow.
_SLOW = 4.0


def seed() -> None:
    """Store the known times, unless there are some already."""
    if KNOWN.with_suffix('.dbm.dat').exists():
        return
    KNOWN.parent.mkdir(exist_ok=True)
    with dbm.dumb.open(str(KNOWN)) as times:
        for line in FILE.read_text().splitlines():
            name, _, seconds = line.rpartition(' ')
            times[name] = seconds


def write() -> None:
    """Write a line for each slow test: its name and seconds."""
    with dbm.dumb.open(str(KNOWN), 'r') as times:
        found = {name.decode(): float(times[name]) for name in times}
    FILE.write_text(''.join(f'{name} {seconds:.0f}\n' for name, seconds in sorted(found.items()) if seconds >= _SLOW))


if __name__ == '__main__':
    try:
        {'seed': seed, 'write': write}[sys.argv[1]]()
    except (IndexError, KeyError):
        sys.exit(__doc__)
