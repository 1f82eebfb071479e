# SPDX-License-Identifier: Apache-2.0
"""Planned switch of backends with failover: a machine is drained, and another one serves its backends."""

import dataclasses
import datetime
import itertools
from collections.abc import Sequence
from typing import Any

from manila_lite import errors
from manila_lite.db.core import host_time
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import backend_machines as rows
from manila_lite.db.queries import services
from manila_lite.workflow.machines import Machines


@dataclasses.dataclass(frozen=True)
class Names:
    """The meanings of a name: a machine, with these backends that have failover, and a host with ``plain`` backends."""

    machine: str
    backends: Sequence[Machines]
    plain: Sequence[str]


def look_up(conn: Connection, name: str) -> Names:
    """Look up the name of a machine, or of a host, or of one of their backends as ``NAME@BACKEND``.

    :raises errors.Invalid: it is the name that all machines of a backend with failover share, and of no machine.
    """
    machine, _, backend = name.partition('@')
    every = list_backends(conn)
    found = [
        one for host, one in every.items() if one.row(machine) and backend in ('', host.partition('@')[2])
    ]
    hosts = [
        row.host
        for row in services.list_services(conn, {'binary': 'manila-share'})
        if name in (row.host, row.host.partition('@')[0])
    ]
    shared, plain = [host for host in hosts if host in every], [host for host in hosts if host not in every]
    if shared and (plain or not found):
        _refuse_shared(name, shared, plain, every)
    return Names(machine, found, plain)


def _refuse_shared(
    name: str, shared: Sequence[str], plain: Sequence[str], every: dict[str, Machines]
) -> None:
    names = ', '.join(dict.fromkeys(row.machine for host in shared for row in every[host].rows))
    more = f' Drain {", ".join(plain)} by the names of these backends.' if plain else ''
    raise errors.Invalid(
        f'All machines of {", ".join(shared)} share the name {name}. To have another machine serve, drain the '
        f'one that does: {names} (see "manila-manage host machines"). To move the data to other backends: '
        f'"manila-manage evacuate start {shared[0]} --by-host".{more}'
    )


def list_backends(conn: Connection) -> dict[str, Machines]:
    """Return the machines of each backend with failover, by the name of the backend."""
    now = host_time.now(conn)
    return {
        host: Machines.of(list(group), now)
        for host, group in itertools.groupby(rows.list_machines(conn), lambda row: str(row.backend_host))
    }


def plan(names: Names) -> list[Machines]:
    """Return the backends that a drain of the machine switches to another one.

    :raises errors.Conflict: no other machine of one of them can take over.
    """
    served = [one for one in names.backends if one.serves(names.machine)]
    if stuck := [one for one in served if not one.takers(names.machine)]:
        raise errors.Conflict(
            ' '.join(_why_stuck(one, names.machine) for one in stuck) + ' Nothing was changed.'
        )
    return served


def _why_stuck(one: Machines, machine: str) -> str:
    others = [_why_not(row, one.now) for row in one.rows if row.machine != machine]
    if not others:
        return (
            f'{one.host} cannot be switched: {machine} is its only machine. Start manila-share on another one that reaches '
            'the same storage.'
        )
    return f'{one.host} cannot be switched: no other machine can take over: {"; ".join(others)}.'


def _why_not(row: Any, now: datetime.datetime) -> str:
    if row.expires_at <= now:
        return f'{row.machine} was last seen at {row.seen_at:%Y-%m-%d %H:%M:%S} UTC: start manila-share there'
    if row.problem:
        return f'{row.machine} has a problem: {row.problem}'
    return f'{row.machine} is drained itself: end that with "manila-manage host drain {row.machine} --undo"'


def begin(conn: Connection, name: str) -> list[str]:
    """Drain the machine. Return the backends that are switched; each machine follows the rules of ``machines.py``.

    :raises errors.Conflict: see ``plan``; nothing was changed.
    """
    rows.lock_leases(conn)
    names = look_up(conn, name)
    served = plan(names)
    set_drained(conn, names, drained=True)
    return [one.host for one in served]


def set_drained(conn: Connection, names: Names, *, drained: bool) -> None:
    """Drain the machine, or end that."""
    for one in names.backends:
        rows.set_drained(conn, one.host, names.machine, drained)


def stage(one: Machines, machine: str) -> tuple[str, bool | None]:
    """Return the stage of the switch away from the machine, in words; and whether it ended well, None if it goes on."""
    if not one.is_drained(machine):
        return f'{machine} is not drained any more', False
    if one.serves(machine):
        if not one.takers(machine):
            return f'no other machine waits any more; {machine} serves until one does', False
        letting_go = one.row(machine).stage == rows.LETS_GO
        return (f'{machine} ends its work and lets go' if letting_go else 'waiting for both machines'), None
    row = one.row(one.holder)
    if row is None or not one.serves(one.holder):
        return 'between two machines', None
    return (f'{one.holder} serves', True) if row.stage == rows.SERVES else (f'{one.holder} takes over', None)
