# SPDX-License-Identifier: Apache-2.0
"""``manila-lite``: API, scheduler and share managers as threads of one process, on one SQLite file by default."""

import manila_lite.cmd  # noqa: F401, I001 - must come first: threads, not eventlet

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oslo_config import cfg

from manila_lite import encryption
from manila_lite.cmd import monitor, preflight, reports, runner, setup
from manila_lite.cmd.api import Api
from manila_lite.db.maintenance import schema_upgrade
from manila_lite.manager.runtime.service import ShareManager, check
from manila_lite.scheduler.service import Scheduler


def build(conf: cfg.ConfigOpts) -> list[Any]:
    """Return the services of the process in the order in which they start. The database is upgraded to its newest schema.

    :raises errors.BadConfig: a part cannot work; nothing has started.
    """
    setup.lock_state_path(Path(conf.state_path))
    check(conf)
    preflight.reach(conf, table=preflight.OWN)
    services = setup.services(conf)
    managers = [ShareManager(services, name) for name in conf.enabled_share_backends]
    parts = [monitor.Monitor(conf, 'manila-lite'), *managers, Scheduler(services), Api(services)]
    preflight.check_tokens(conf)
    schema_upgrade.upgrade_if_older(services.db)
    encryption.prepare(conf, services.db)
    return parts


def main() -> int:
    """Run until a signal ends it."""
    return setup.run(_main)


def _main(argv: Sequence[str]) -> int:
    conf = setup.configure(argv, transport_url='inproc://', program='manila-lite')
    parts = build(conf)
    setup.say_start('manila-lite')
    reports.install_signal_handler()
    return runner.run([runner.ConfigFiles(conf), *parts])


if __name__ == '__main__':
    sys.exit(main())
