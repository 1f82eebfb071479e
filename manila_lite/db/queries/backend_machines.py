# SPDX-License-Identifier: Apache-2.0
"""Machines of backends with failover: each one reports itself, and an operator drains it."""

import datetime
from typing import Any

import sqlalchemy as sa

from manila_lite.db import models
from manila_lite.db.core import host_time, row_locks
from manila_lite.db.core.engine import Connection, Row, insert_ignore

_machines = models.backend_machines
_services = models.services
#: Characters of a problem that are kept.
_MOST = 255

#: Stages of a machine: it waits; it waits and looks all the time, since the one that serves is drained; it has the lease and
#: makes the backend ready; it serves; it lets go, so that another one serves.
WAITS, READY, TAKES_OVER, SERVES, LETS_GO = 'waits', 'ready', 'takes over', 'serves', 'lets go'


def _is(backend_host: str, machine: str) -> sa.ColumnElement[bool]:
    return sa.and_(_machines.c.backend_host == backend_host, _machines.c.machine == machine)


def report(
    conn: Connection,
    backend_host: str,
    machine: str,
    owner: str,
    seconds: float,
    stage: str,
    problem: str | None = None,
) -> None:
    """Record that the machine lives, for ``seconds`` from now. ``problem``: why it could not take over."""
    now = host_time.now(conn)
    values = {
        'owner': owner,
        'seen_at': now,
        'expires_at': now + datetime.timedelta(seconds=seconds),
        'stage': stage,
        'problem': problem[:_MOST] if problem else None,
    }
    if not conn.execute(_machines.update().where(_is(backend_host, machine)).values(**values)).rowcount:
        insert_ignore(
            conn, _machines, {'backend_host': backend_host, 'machine': machine, 'drained': False, **values}
        )


def set_stage(conn: Connection, backend_host: str, machine: str, owner: str, stage: str) -> None:
    """Record the stage, if the machine was reported by this owner last."""
    conn.execute(
        _machines.update().where(_is(backend_host, machine), _machines.c.owner == owner).values(stage=stage)
    )


def end(conn: Connection, backend_host: str, machine: str, owner: str) -> None:
    """Record that the machine waits no more, if it was reported by this owner last."""
    conn.execute(
        _machines.update()
        .where(_is(backend_host, machine), _machines.c.owner == owner)
        .values(expires_at=host_time.now(conn))
    )


def list_machines(conn: Connection, backend_host: str | None = None) -> list[Row[Any]]:
    """Return the machines of the backend, or of all, with ``lease_owner`` and ``lease_expires_at`` of the backend."""
    query = (
        sa.select(_machines, _services.c.lease_owner, _services.c.lease_expires_at)
        .join(
            _services,
            sa.and_(_services.c.host == _machines.c.backend_host, _services.c.binary == 'manila-share'),
        )
        .order_by(_machines.c.backend_host, _machines.c.machine)
    )
    return list(
        conn.execute(query if backend_host is None else query.where(_machines.c.backend_host == backend_host))
    )


def lock_leases(conn: Connection) -> None:
    """Lock the leases of all backends with failover until the transaction ends: none changes its holder."""
    known = sa.select(_machines.c.backend_host)
    conn.execute(
        sa.select(_services.c.id)
        .where(_services.c.host.in_(known), _services.c.binary == 'manila-share')
        .order_by(_services.c.id)
        .with_for_update()
    ).all()
    row_locks.certify(conn, _services, _services.c.host.in_(known), _services.c.binary == 'manila-share')


def set_drained(conn: Connection, backend_host: str, machine: str, drained: bool) -> None:
    """Drain the machine, or end that."""
    conn.execute(_machines.update().where(_is(backend_host, machine)).values(drained=drained))


def list_silent(conn: Connection, before: datetime.datetime) -> list[Row[Any]]:
    """Return the machines that were last seen before, except those that have a lease."""
    return [row for row in list_machines(conn) if row.seen_at < before and row.lease_owner != row.owner]


def delete_silent(conn: Connection, backend_host: str, machine: str, before: datetime.datetime) -> bool:
    """Delete the machine if it was last seen before. Say whether it was."""
    return bool(
        conn.execute(
            _machines.delete().where(_is(backend_host, machine), _machines.c.seen_at < before)
        ).rowcount
    )
