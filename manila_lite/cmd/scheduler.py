# SPDX-License-Identifier: Apache-2.0
"""``manila-scheduler``: places shares. Any number of them may run."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import sys
from collections.abc import Sequence

from manila_lite.cmd import preflight, processes, setup
from manila_lite.scheduler.service import Scheduler


def main() -> int:
    """Run until a signal ends it."""
    return setup.run(_main)


def _main(argv: Sequence[str]) -> int:
    conf = setup.configure(argv, program='manila-scheduler')
    preflight.check(conf)
    return processes.run(conf, 'manila-scheduler', [processes.Part(lambda: Scheduler(setup.services(conf)))])


if __name__ == '__main__':
    sys.exit(main())
