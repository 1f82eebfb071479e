# SPDX-License-Identifier: Apache-2.0
"""Share manager that dies while it measures, warns and lets shares grow.

Usage: ``growth_victim CONFIG HOST POINT``. An exit status of 0 means that it survived: there are not so many points.
"""

import os
import signal
import sys

import sqlalchemy as sa
from oslo_utils import units

from manila_lite import values
from manila_lite.cmd import setup
from manila_lite.drivers import interface
from manila_lite.manager.runtime.share_usage import UsageCollector

#: The point after the last commit of a growth, at which nobody has heard of the operation.
UNHEARD = 'before the workers are told'


class Full(interface.MeasuresUsage):
    """A driver whose shares hold 1.9 GiB each."""

    def measure_usage(self, targets):
        return {target.id: values.ShareUsage(19 * units.Gi // 10) for target in targets}


def main():
    """Measure, and die before the commit with the number ``POINT``, from 1 on."""
    config, host, point = sys.argv[1:]
    services = setup.services(setup.configure([f'--config-file={config}']))
    seen = []

    def commits(conn):
        seen.append(conn)
        if str(len(seen)) == point:
            _die()

    sa.event.listen(services.db.engine, 'commit', commits)
    if point == UNHEARD:
        services.bus.wake = _die
    UsageCollector(services, host, Full()).collect()


def _die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
