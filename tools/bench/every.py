#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run all or the named benchmarks one after the other. The last line is JSON with all results."""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import report

#: The cheapest first.
NAMES = (
    'lists',
    'scheduler',
    'ensure',
    'usage',
    'processes',
    'events',
    'fair',
    'access',
    'mover',
    'create',
    'beside',
    'scale',
    'exports',
    'gateway',
    'failover',
)
#: Those that run only when they are named.
_NAMED = ('beside', 'scale', 'exports', 'gateway', 'failover')


def run(name: str, options: list[str]) -> tuple[int, dict | None]:
    """Run one benchmark in a process, and show its table; return its exit status, and its results or None."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / f'{name}.py'), *options],
        stdout=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    *table, last = done.stdout.splitlines() or ['']
    try:
        result = json.loads(last)
    except json.JSONDecodeError:
        print(done.stdout)
        return done.returncode or 1, None
    print('\n'.join(table), end='\n\n')
    return done.returncode, result


def main() -> int:
    """Run the benchmarks; fail if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    report.add_sizes(parser)
    parser.add_argument(
        '--beside', metavar='PEER', help='run the benchmark "beside" with this peer: none or manila'
    )
    parser.add_argument('--driver', default='pymysql', help='of MariaDB, in "beside": pymysql or mysqldb')
    parser.add_argument('--scale', action='store_true', help='run the benchmark "scale"')
    parser.add_argument(
        '--database', default='mariadb', help='of the benchmark "scale": mariadb, postgresql or sqlite'
    )
    parser.add_argument(
        'names', nargs='*', metavar='NAME', help=f'{", ".join(NAMES)}; by default all but {", ".join(_NAMED)}'
    )
    args = parser.parse_args()
    args.names += [name for name in _NAMED if getattr(args, name, None)]
    unknown = sorted({*args.names} - {*NAMES})
    if unknown:
        parser.error(f'no such benchmark: {", ".join(unknown)}; there are {", ".join(NAMES)}')
    options = [f'--{args.size}'] * (args.size != report.FULL) + ['--check'] * args.check
    more = {
        'beside': [f'--peer={args.beside or "none"}', f'--driver={args.driver}'],
        'scale': [f'--database={args.database}'],
    }
    chosen = [name for name in NAMES if name in args.names or (not args.names and name not in _NAMED)]
    results, failed, began = [], [], time.monotonic()
    for number, name in enumerate(chosen, 1):
        report.say(f'[{number}/{len(chosen)}, {time.monotonic() - began:.0f} s] {name}')
        print(f'{name}\n{"-" * len(name)}')
        status, result = run(name, options + more.get(name, []))
        results.append(result)
        failed += [name] if status else []
    report.say(f'{time.monotonic() - began:.0f} s; {"failed: " + ", ".join(failed) if failed else "all ran"}')
    print(json.dumps([result for result in results if result is not None]))
    return int(bool(failed))


if __name__ == '__main__':
    sys.exit(main())
