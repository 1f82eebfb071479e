# SPDX-License-Identifier: Apache-2.0
"""``manila-manage host machines``, and the switch of backends with failover from a machine that is drained to another one."""

import functools
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.cmd.manage.command import FORMAT, GOOD, Call, Command, argument
from manila_lite.cmd.manage.watch import Progress, watch
from manila_lite.workflow import switch
from manila_lite.workflow.machines import Machines


def machines(call: Call) -> int:
    """List the machines of each backend with failover: which one serves, and which ones wait, last seen when.

    A machine that died shows its last stage until its lease is over, and is "gone" then.
    """
    with call.db.reader() as conn:
        backends = switch.list_backends(conn)
    name = call.args.host
    call.show(
        ('backend', 'machine', 'stage', 'status', 'seen', 'problem'),
        [
            _shown(one, row)
            for host, one in backends.items()
            for row in one.rows
            if name in (None, row.machine, host, host.partition('@')[0])
        ],
    )
    return GOOD


def _shown(one: Machines, row: Any) -> dict[str, Any]:
    ago = max(0.0, (timeutils.utcnow() - row.seen_at).total_seconds())
    return {
        'backend': one.host,
        'machine': row.machine,
        'stage': row.stage if row.expires_at > one.now else 'gone',
        'status': 'drained' if row.drained else 'enabled',
        'seen': f'{ago:.0f} s ago' if ago < 100 else str(row.seen_at),
        'problem': row.problem,
        'seen_at': row.seen_at,
        'has_lease': one.serves(row.machine),
    }


def look_up(call: Call) -> switch.Names:
    """Return the meanings of the name that was given.

    :raises errors.Invalid, errors.Conflict: it is that of several machines; or a backend cannot be switched.
    """
    with call.db.reader() as conn:
        names = switch.look_up(conn, call.args.host)
        switch.plan(names)
    return names


def moves(names: switch.Names) -> list[dict[str, Any]]:
    """Return the switches as rows of a plan of an evacuation."""
    return [
        {
            'resource_type': 'backend',
            'name': '',
            'id': one.host,
            'size': None,
            'shares': None,
            'from': names.machine,
            'to': ' or '.join(row.machine for row in one.takers(names.machine)),
            'clients': 'pause',
        }
        for one in switch.plan(names)
    ]


def run(call: Call, out: TextIO) -> int:
    """Drain the machine, and show the progress until other machines serve all that it served. Return the exit status."""
    with call.db.writer() as conn:
        hosts = switch.begin(conn, call.args.host)
    machine = call.args.host.partition('@')[0]
    status = max(
        [watch(functools.partial(_progress, call, host, machine), call.args.every, out) for host in hosts],
        default=GOOD,
    )
    print(
        f'{machine} is drained: it serves none of its backends with failover while another machine can. To end that: '
        f'manila-manage host drain {call.args.host} --undo',
        file=out,
        flush=True,
    )
    return status


def _progress(call: Call, host: str, machine: str) -> Progress:
    with call.db.reader() as conn:
        one = switch.list_backends(conn).get(host)
    if one is None:
        raise errors.NotFound(f'The backend {host} is gone.')
    text, ended = switch.stage(one, machine)
    return Progress(
        'switched' if ended else 'switching' if ended is None else 'not switched',
        detail=f'{host}: {text}',
        percent=100 if ended else None,
        hint='' if ended is None else f'{host}: {text}',
        ended=ended,
    )


def undo(call: Call) -> int:
    """Let a machine serve its backends with failover again. Nothing moves: there is no preferred machine.

    :raises errors.NotFound: there is no such machine.
    """
    with call.db.writer() as conn:
        names = switch.look_up(conn, call.args.host)
        if not names.backends:
            raise errors.NotFound(
                f'There is no machine {call.args.host} of a backend with failover; see "manila-manage host '
                'machines". To use an evacuated backend again: "openstack share service set --enable".'
            )
        switch.set_drained(conn, names, drained=False)
    print(
        f'{names.machine} may serve again: {", ".join(one.host for one in names.backends)}', file=sys.stdout
    )
    return GOOD


COMMANDS: Sequence[Command] = (
    Command(
        'host',
        'machines',
        machines,
        [argument('host', nargs='?', help='machine, host, or backend as host@backend; default: all'), FORMAT],
    ),
)
