# SPDX-License-Identifier: Apache-2.0
"""``manila-manage service`` and ``host``: lists of services and backends, and removal of services that are gone for good."""

import datetime
import sys
from collections.abc import Sequence
from typing import Any

from manila_lite import errors
from manila_lite.cmd.manage.command import FORMAT, GOOD, WRONG, Call, Command, argument, natural
from manila_lite.db.core import database_clock
from manila_lite.db.queries import backend_machines, hosts, services


def service_list(call: Call) -> int:
    """List the services with their state and release. A service of a release before 0.2.0 does not tell its release."""
    with call.db.reader() as conn:
        rows = services.list_services(conn)
    down = call.conf.service_down_time
    call.show(
        ('binary', 'host', 'zone', 'status', 'state', 'heartbeat', 'release'),
        [
            {
                'binary': row.binary,
                'host': row.host,
                'zone': row.zone,
                'status': 'disabled' if row.disabled else 'enabled',
                'state': _state(row, down),
                'heartbeat': row.heartbeat_at,
                'stopped': bool(row.stopped),
                'disabled_reason': row.disabled_reason,
                'lease_owner': row.lease_owner,
                'release': services.release_of(row),
            }
            for row in rows
        ],
    )
    return GOOD


def _state(row: Any, down: float) -> str:
    return 'up' if services.is_up(row, down) else 'down'


def service_cleanup(call: Call) -> int:
    """Delete the records of services without a heartbeat for --down seconds, without shares and without waiting operations.

    Machines of backends with failover that were not seen for that time are deleted, too.

    Exit status 1: some services without a heartbeat still have shares or operations.
    """
    if call.args.down < call.conf.service_down_time:
        raise errors.Invalid(
            f'--down: {call.args.down} s is less than service_down_time, {call.conf.service_down_time} s'
        )
    shown = []
    with call.db.writer() as conn:
        before = database_clock.time(conn) - datetime.timedelta(seconds=call.args.down)
        for row in hosts.list_silent_services(conn, before):
            gone = hosts.delete_silent_service(conn, row.id, before)
            shown.append(
                {
                    'binary': row.binary,
                    'host': row.host,
                    'heartbeat': row.heartbeat_at,
                    'result': 'removed'
                    if gone
                    else 'kept: shares or operations need it'
                    if row.used
                    else 'kept: it is up again',
                }
            )
        shown += [
            {
                'binary': f'machine {row.machine}',
                'host': row.backend_host,
                'heartbeat': row.seen_at,
                'result': 'removed',
            }
            for row in backend_machines.list_silent(conn, before)
            if backend_machines.delete_silent(conn, row.backend_host, row.machine, before)
        ]
    call.show(('binary', 'host', 'heartbeat', 'result'), shown)
    if not shown:
        print(
            'Nothing was deleted: each service and machine had a heartbeat in the last '
            f'{call.args.down:g} seconds (--down).',
            file=sys.stderr,
        )
    return WRONG if any(one['result'].startswith('kept: shares') for one in shown) else GOOD


def host_list(call: Call) -> int:
    """List all backends, or those of one availability zone."""
    with call.db.reader() as conn:
        rows = hosts.list_backends(conn, call.args.zone)
    down = call.conf.service_down_time
    call.show(
        ('host', 'zone', 'status', 'state', 'pools', 'shares'),
        [
            {
                'host': row.host,
                'zone': row.zone,
                'status': 'disabled' if row.disabled else 'enabled',
                'state': _state(row, down),
                'pools': row.pools,
                'shares': row.shares,
            }
            for row in rows
        ],
    )
    return GOOD


COMMANDS: Sequence[Command] = (
    Command('service', 'list', service_list, [FORMAT]),
    Command(
        'service',
        'cleanup',
        service_cleanup,
        [
            argument(
                '--down',
                type=natural,
                default=3600,
                metavar='SECONDS',
                help='minimum time without a heartbeat; default: 3600',
            ),
            FORMAT,
        ],
    ),
    Command(
        'host',
        'list',
        host_list,
        [argument('zone', nargs='?', help='availability zone; default: all'), FORMAT],
    ),
)
