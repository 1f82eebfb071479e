# SPDX-License-Identifier: Apache-2.0
"""Run every scenario in the state directory that another one left: in the order of doc/source/scenarios.rst, or --backwards.

In network and mount namespaces of its own: nothing else has port 2049, and nothing of it can stay.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP))  # this tree, whatever is installed

from manila_lite.tests import waiting  # noqa: E402 - after the line above
from manila_lite.tests.functional.installation.test_quickstart import traces  # noqa: E402 - as well

_STATE = TOP / '.quickstart-round'
#: Groups of Debian packages that a namespace without a network could not fetch.
_GROUPS = '--keystone', '--guests', '--ceph'
#: Seconds for one scenario, on a slow machine.
_PATIENCE = 1800


def scenarios():
    """Return the words behind tools/quickstart of each scenario of the page, and of the one without storage."""
    lines = re.findall(
        r'^    \./tools/quickstart([^#\n]*)', (TOP / 'doc/source/scenarios.rst').read_text(), re.MULTILINE
    )
    return [*(line.split() for line in lines), ['--backend', 'dummy']]


def went(words):
    """Run the scenario. Return whether it worked and left nothing but files; otherwise show its output."""
    began = time.monotonic()
    line = ' '.join(['tools/quickstart', *words])
    try:
        done = subprocess.run(
            [TOP / 'tools' / 'quickstart', '--state', _STATE, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_PATIENCE,
        )
        said, trouble = done.stdout, f'exit status {done.returncode}' if done.returncode else ''
        waiting.until(lambda: not traces(_STATE), lambda: f'nothing is left: {traces(_STATE)}')
    except subprocess.TimeoutExpired as late:
        said, trouble = (late.stdout or b'').decode(errors='replace'), str(late)
    except waiting.Late as late:
        trouble = f'{trouble} {late}'.strip()
    print(
        f'{said}\nFAILED {line}: {trouble}' if trouble else f'{line}: {time.monotonic() - began:.0f} s',
        flush=True,
    )
    return not trouble


def enter():
    """Run this again in namespaces of its own. What scenarios need is installed before: there is no network inside."""
    subprocess.run(
        [TOP / 'tools' / 'setup-env', *_GROUPS],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    os.execvp('unshare', ['unshare', '--net', '--mount', sys.executable, *sys.argv, '--inside'])  # noqa: S606 - no shell is wanted


def main():
    """Run them all; the exit status is 0 if each worked, and nothing is left at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--backwards', action='store_true')
    parser.add_argument('--inside', action='store_true', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not args.inside:
        enter()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    subprocess.run(['ip', 'link', 'set', 'lo', 'up'], check=True)
    worked = []
    try:
        worked += [went(words) for words in scenarios()[:: -1 if args.backwards else 1]]
    finally:
        worked.append(went(['--down']))
    return 0 if all(worked) and not _STATE.exists() else 1


if __name__ == '__main__':
    sys.exit(main())
