#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Share out the tests evenly in their first run: stestr itself knows the duration of a test only after a run.

tools/spread.py seed    copy the durations in tools/times.txt to a stestr repository (.stestr) without durations
tools/spread.py write   write the durations of the slow classes in the last run here to tools/times.txt

CI has a new repository in each run. On two processors the tests on SQLite end after about 2340 seconds with these durations,
and after 2650 without. Write the file anew, after a whole run, when a class has become slow.
"""

import collections
import dbm.dumb
import pathlib
import sys

FILE = pathlib.Path(__file__).with_name('times.txt')
KNOWN = pathlib.Path('.stestr/times.dbm')
#: Seconds from which a class is slow.
_SLOW = 8.0


def read() -> dict[str, str]:
    """Return a test of each slow class, and the seconds of the class."""
    return dict(line.rsplit(' ', 1) for line in FILE.read_text().splitlines() if not line.startswith('#'))


def seed() -> None:
    """Store the known times, unless there are some already. stestr adds up the tests of a class, so one may have all."""
    if KNOWN.with_suffix('.dbm.dat').exists():
        return
    KNOWN.parent.mkdir(exist_ok=True)
    with dbm.dumb.open(str(KNOWN)) as times:
        for name, seconds in read().items():
            times[name] = seconds


def write() -> None:
    """Write a line for each slow class. Its test has no parameters: stestr lists tests before they get them."""
    classes: dict[str, dict[str, float]] = collections.defaultdict(dict)
    seeded = read()
    kept = {}
    with dbm.dumb.open(str(KNOWN), 'r') as times:
        for key in times:
            name, _, parameters = key.decode().partition('(')
            seconds = times[key].decode()
            if not parameters and seeded.get(name) == seconds:   # it did not run here, or has got parameters
                kept[name] = float(seconds)
            else:
                tests = classes[name.rpartition('.')[0]]
                tests[name] = tests.get(name, 0.0) + float(seconds)
    for name, duration in kept.items():
        classes.setdefault(name.rpartition('.')[0], {name: duration})
    slow = [f'{max(tests, key=tests.get)} {sum(tests.values()):.0f}' for _, tests in sorted(classes.items())
            if sum(tests.values()) >= _SLOW]
    FILE.write_text('\n'.join([FILE.read_text().partition('\n')[0], *slow]) + '\n')


if __name__ == '__main__':
    try:
        {'seed': seed, 'write': write}[sys.argv[1]]()
    except (IndexError, KeyError):
        sys.exit(__doc__)
