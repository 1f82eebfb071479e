# SPDX-License-Identifier: Apache-2.0
"""Look for due schedules as a scheduler does, and be killed: ``victim CONFIG before|after``, the commit of what it began."""

import os
import signal
import sys

import sqlalchemy as sa
from oslo_config import cfg

from manila_lite.cmd import setup
from manila_lite.scheduler import schedules


class _Deadly:
    """A bus that kills its process at the first wake-up, after the commit."""

    def wake(self, *words):
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    """Run until death."""
    path, when = sys.argv[1:]
    services = setup.services(setup.configure([f'--config-file={path}'], conf=cfg.ConfigOpts()))

    def saw(conn, cursor, statement, *_):
        if when == 'before' and statement.startswith('INSERT INTO operations'):
            os.kill(os.getpid(), signal.SIGKILL)

    sa.event.listen(sa.engine.Engine, 'after_cursor_execute', saw)
    schedules.begin_due(type(services)(services.conf, services.db, _Deadly()))


if __name__ == '__main__':
    main()
