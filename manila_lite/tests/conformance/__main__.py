# SPDX-License-Identifier: Apache-2.0
"""Run the published suite: python -m manila_lite.tests.conformance MODE [REGEX...]."""

import argparse
import csv
import os
import sys
from pathlib import Path

from manila_lite.tests.conformance import cloud, suite

_HERE = Path(__file__).parent


def main() -> int:
    """Run it; return 1 if a test fails that passes upstream."""
    parser = argparse.ArgumentParser()
    parser.add_argument('mode', choices=cloud.MODES)
    parser.add_argument('--workers', type=int, default=4)
    parser.add_argument('--save', help='file for the outcomes')
    parser.add_argument('names', nargs='*')
    args = parser.parse_args()
    with cloud.Cloud(args.mode) as here:
        found = suite.run(here, args.mode, args.names, workers=args.workers)
        if os.environ.get('KEEP'):
            os.system(f'cp {here.state}/*.log {os.environ["KEEP"]}/')
    with (_HERE / 'upstream.tsv').open() as file:
        base = {row['test']: row['outcome'] for row in csv.DictReader(file, delimiter='\t') if row['mode'] == args.mode}
    if args.save:
        with open(args.save, 'w') as out:
            for name in sorted(found):
                print(name, found[name][0], base.get(name, '?'), found[name][1].replace('\n', '\\n')[-1500:], sep='\t', file=out)
    good = sum(outcome == 'pass' for outcome, _ in found.values())
    bad = [name for name, (outcome, _) in found.items() if outcome != 'pass' and base.get(name) == 'pass']
    for name in bad:
        print('upstream passes', name)
    print(f'conformance {args.mode}: {good} of {sum(value == "pass" for value in base.values())}, worse: {len(bad)}')
    return bool(bad)


sys.exit(main())
