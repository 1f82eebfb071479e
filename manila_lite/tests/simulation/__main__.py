# SPDX-License-Identifier: Apache-2.0
"""``tools/simulate``: many histories, or one again."""

import argparse
import random
import sys
import time

from manila_lite.tests.simulation.history import History
from manila_lite.tests.simulation.schedules.history import SchedulesHistory
from manila_lite.tests.simulation.shares.history import SharesHistory
from manila_lite.tests.simulation.tally import Tally

_KINDS = {kind.kind: kind for kind in (History, SharesHistory, SchedulesHistory)}

#: Seconds between lines about progress in a file.
_SELDOM = 60


def _arguments():
    parser = argparse.ArgumentParser(
        prog='tools/simulate',
        description='Histories of the engine of durable work, of shares, or of schedules.',
    )
    parser.add_argument(
        '--kind', choices=_KINDS, default=History.kind, help='what lives through them (default: engine)'
    )
    parser.add_argument(
        '--seed', type=int, help='of the first history; each further one has the next (default: any)'
    )
    parser.add_argument(
        '--histories', type=int, help='how many (default: 200, or as many as there is time for)'
    )
    parser.add_argument('--hours', type=float, help='for how long')
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.randrange(10**9)
    if arguments.histories is None:
        arguments.histories = sys.maxsize if arguments.hours else 200
    return arguments


def _say(began, number, failed, end='\r'):
    rate = number / max(time.monotonic() - began, 0.001)
    print(f'{number} histories, {failed} failed, {rate:.1f} a second', end=end, flush=True)


def _show(trace):
    for line in trace:
        if not line.endswith((' lock', ' clock')):
            print(line)


def main():
    """Run histories; the exit code is 0 only if none failed, and operations succeeded in them."""
    wanted = _arguments()
    began = said = time.monotonic()
    pause, end = (1, '\r') if sys.stdout.isatty() else (_SELDOM, '\n')
    number = failed = 0
    seed = wanted.seed
    print(f'first seed {seed}')
    kind = _KINDS[wanted.kind]
    counts = Tally(kind.must_succeed)
    with kind.deployment_class() as deployment:
        while number < wanted.histories and (
            not wanted.hours or time.monotonic() - began < wanted.hours * 3600
        ):
            history = kind(seed, deployment)
            why = history.run()
            counts.add(history.model.rows.values())
            number += 1
            if wanted.histories == 1:
                _show(history.trace)
            if why is not None:
                failed += 1
                print(f'{history.kind}, seed {seed}: {why}\n    {history.again}')
            if time.monotonic() - said > pause:
                said = time.monotonic()
                _say(began, number, failed, end=end)
            seed += 1
    _say(began, number, failed, end='\n')
    refusal = counts.refusal()
    print(refusal or counts)
    return 1 if failed or refusal else 0


if __name__ == '__main__':
    sys.exit(main())
