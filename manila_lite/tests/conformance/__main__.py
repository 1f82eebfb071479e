# SPDX-License-Identifier: Apache-2.0
"""Run the published suite against a cloud of its own: python -m manila_lite.tests.conformance MODE [REGEX...].

Name the tests that pass upstream and not here, and end with "conformance MODE: N of M": how many pass here, and in a whole run
upstream. No run of scenario tests upstream is recorded: each that is not in skips.tsv should pass. The exit status is 1 if a
test is worse or none ran, and 77 if a program is missing.
"""

import argparse
import contextlib
import os
import sys
from pathlib import Path

import fixtures

from manila_lite.tests.conformance import modes, outcomes, suite
from manila_lite.tests.services import daemon


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m manila_lite.tests.conformance', description=__doc__)
    parser.add_argument('mode', choices=modes.MODES)
    parser.add_argument('names', nargs='*', metavar='REGEX')
    parser.add_argument(
        '--portion', help='TURN/OF, without names: one of so many classes, those whose turn it is'
    )
    parser.add_argument('--workers', type=int, default=(os.cpu_count() or 1) + 2)
    parser.add_argument('--subunit', help='file for the results as our own tests have them')
    parser.add_argument('--save', help='file for the outcomes, each beside that of upstream')
    parser.add_argument('--logs', help='directory for the logs of the services')
    return parser.parse_args()


def main() -> int:
    """Run it; see the module."""
    args = _arguments()
    daemon.exit_on_signals()
    if args.portion and not args.names:
        args.names = outcomes.portion(args.mode, *map(int, args.portion.split('/')))
    try:
        ours = _run(args)
    except fixtures.MultipleExceptions as bad:
        why = bad.args[0][1]
        if not isinstance(why, daemon.Missing):
            raise
        print(f'conformance {args.mode}: {why}', file=sys.stderr)
        return daemon.MISSING
    recorded = outcomes.read(outcomes.UPSTREAM, args.mode)
    upstream = recorded or outcomes.perfect(ours, outcomes.read(outcomes.SKIPS, args.mode))
    bad = outcomes.worse(
        ours, outcomes.chosen(upstream, args.names), outcomes.read(outcomes.DIFFERENCES, args.mode)
    )
    _keep(args, ours, upstream, bad)
    for name in sorted(bad):
        print(f'conformance {args.mode}: {"worse than upstream" if recorded else "did not pass"}: {name}')
    print(f'conformance {args.mode}: {_number(ours)} of {_number(upstream)}')
    return 1 if bad or not ours else 0


def _run(args: argparse.Namespace) -> dict[str, outcomes.Outcome]:
    with modes.MODES[args.mode]() as here:
        try:
            return suite.run(here, args.names, workers=args.workers)
        finally:
            if args.logs:
                here.keep_logs(Path(args.logs))


def _keep(
    args: argparse.Namespace, ours: outcomes.Outcomes, upstream: outcomes.Outcomes, bad: dict[str, str]
) -> None:
    """Write the files that were asked for."""
    if args.save:
        lines = (
            f'{name}\t{one.outcome}\t{upstream.get(name, one).outcome}\t{one.reason[-1500:]!r}\n'
            for name, one in sorted(ours.items())
        )
        Path(args.save).write_text(''.join(lines))
    if args.subunit:
        with contextlib.closing(Path(args.subunit).open('wb')) as file:
            suite.report(file, sorted(name for name, one in ours.items() if one.good), bad)


def _number(found: outcomes.Outcomes) -> int:
    return sum(one.good for one in found.values())


if __name__ == '__main__':
    sys.exit(main())
