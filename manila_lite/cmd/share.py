# SPDX-License-Identifier: Apache-2.0
"""``manila-share``: a process for every backend in ``enabled_share_backends``."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import sys
from collections.abc import Sequence
from functools import partial

from oslo_config import cfg
from oslo_log import log

from manila_lite import encryption, errors
from manila_lite.cmd import preflight, processes, setup
from manila_lite.drivers import section
from manila_lite.manager.runtime.service import ShareManager, check

LOG = log.getLogger(__name__)


def main() -> int:
    """Run until a signal ends it."""
    return setup.run(_main)


def _main(argv: Sequence[str]) -> int:
    conf = setup.configure(argv, program='manila-share')
    check(conf)
    preflight.check(conf)
    _check_key(conf)
    return processes.run(
        conf,
        'manila-share',
        [processes.Part(partial(_manager, conf, name), backend=name) for name in conf.enabled_share_backends],
    )


def _check_key(conf: cfg.ConfigOpts) -> None:
    """Warn if the key of secrets is unusable. The start goes on: many backends need no secrets, and work that does waits."""
    try:
        encryption.check(conf)
    except errors.BadConfig as bad:
        LOG.warning('Work that needs secrets of the database waits: %s', bad)


def _manager(conf: cfg.ConfigOpts, name: str) -> ShareManager:
    section.adopt(conf, name)  # the master read its files long ago, if this process replaces one that died
    return ShareManager(setup.services(conf), name)


if __name__ == '__main__':
    sys.exit(main())
