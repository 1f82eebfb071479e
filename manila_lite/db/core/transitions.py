# SPDX-License-Identifier: Apache-2.0
"""The only writer of status columns: one UPDATE whose WHERE names the statuses from which a verb starts.

If no row changed, another transaction was first or the row is gone: ``errors.WrongState``.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from manila_lite import errors, states
from manila_lite.db import models
from manila_lite.db.core.prepared import Write, WriteAmong, WriteEach, one_of

_TABLES = {
    states.SHARE.resource_type: models.share_instances,
    states.SNAPSHOT.resource_type: models.snapshots,
    states.ACCESS.resource_type: models.access_rules,
    states.SNAPSHOT_ACCESS.resource_type: models.snapshot_access_rules,
    states.SHARE_NETWORK.resource_type: models.share_networks,
    states.SHARE_SERVER.resource_type: models.share_servers,
    states.SHARE_GROUP.resource_type: models.share_groups,
    states.SHARE_GROUP_SNAPSHOT.resource_type: models.share_group_snapshots,
    states.SHARE_BACKUP.resource_type: models.share_backups,
}

#: Tables of what migrates.
_TASKS = {'share': models.shares, 'share_server': models.share_servers}
_INSERTS = {resource_type: Write(table.insert()) for resource_type, table in _TABLES.items()}


def register(machine: states.StateMachine, table: sa.Table) -> None:
    """Give rows of ``table``, whose key is ``id``, the statuses of ``machine``. For the tables of siblings."""
    _TABLES[machine.resource_type] = table
    _INSERTS[machine.resource_type] = Write(table.insert())


def create(
    conn: Connection, machine: states.StateMachine, values: dict[str, Any], verb: str = 'create'
) -> dict[str, Any]:
    """Insert a row in the verb's transient status, or in the machine's initial status. Return its values."""
    values = values | {machine.column: machine.born or machine[verb].during}
    _INSERTS[machine.resource_type].execute(conn, values)
    return values


def begin(conn: Connection, machine: states.StateMachine, verb: str, row_id: str, **values: Any) -> None:
    """Begin the verb: set the row to its *during* status, together with ``values``.

    :raises errors.WrongState: the verb cannot start from the row's status.
    """
    row = machine[verb]
    if not _swap(conn, machine, (row_id,), row.allowed, row.during, values):
        table = _TABLES[machine.resource_type]
        now = conn.execute(sa.select(table.c[machine.column]).where(table.c.id == row_id)).scalar()
        raise errors.WrongState(
            f'The {machine.resource_name} is {now or "gone"}; to {verb.replace("_", " ")} it, it must be '
            f'{" or ".join(sorted(row.allowed))}.'
        )


def begin_many(conn: Connection, machine: states.StateMachine, verb: str, row_ids: Iterable[str]) -> int:
    """Do as ``begin`` for those of the rows whose status allows it. Return their number."""
    return _swap(conn, machine, tuple(row_ids), machine[verb].allowed, machine[verb].during, {})


def finish(conn: Connection, machine: states.StateMachine, verb: str, row_id: str, **values: Any) -> None:
    """End the verb as done: set the row to its *ok* status, or delete it if there is none.

    A row that left the *during* status meanwhile (by an administrator's reset) is not changed.
    """
    row = machine[verb]
    if row.ok is None:
        remove(conn, machine, (row_id,), row.during)
    else:
        _swap(conn, machine, (row_id,), {row.during}, row.ok, values)


def fail(conn: Connection, machine: states.StateMachine, verb: str, row_id: str, **values: Any) -> None:
    """End the verb as failed: set the row to its *fail* status."""
    row = machine[verb]
    _swap(conn, machine, (row_id,), {row.during}, row.fail, values)


def settle(
    conn: Connection,
    machine: states.StateMachine,
    row_ids: Iterable[str],
    during: str,
    to: str,
    **values: Any,
) -> int:
    """Set rows from a *during* status to its end ``to``. Return how many changed. For many rows at once."""
    return _swap(conn, machine, tuple(row_ids), {during}, to, values)


def lock(conn: Connection, machine: states.StateMachine, row_id: str, status: str) -> bool:
    """Lock the row until the commit if it has this status; say whether it has."""
    return bool(_swap(conn, machine, (row_id,), {status}, status, {}))


def settle_each(
    conn: Connection,
    machine: states.StateMachine,
    own: tuple[str, Mapping[str, Any]],
    during: str,
    to: str,
    **values: Any,
) -> int:
    """Do as ``settle``, and give each row its own value, by id, in a column. ``own``: the column's name, and the values."""
    name, by_id = own
    swap = _swap_each_of(_TABLES[machine.resource_type], machine.column, during, tuple(sorted(values)), name)
    return swap.execute(conn, dict(sorted(by_id.items())), _new(to, values))


def remove(conn: Connection, machine: states.StateMachine, row_ids: Iterable[str], during: str) -> int:
    """Delete rows in a *during* status. Return how many were deleted."""
    table = _TABLES[machine.resource_type]
    return conn.execute(
        table.delete().where(table.c.id.in_(tuple(row_ids)), table.c[machine.column] == during)
    ).rowcount


def reset(conn: Connection, machine: states.StateMachine, row_id: str, to: str) -> None:
    """Set the status by hand, for an administrator.

    :raises errors.Invalid: this status may not be set.
    """
    if to not in machine.resettable:
        raise errors.Invalid(f'status: {to!r} is not one of {", ".join(sorted(machine.resettable))}.')
    table = _TABLES[machine.resource_type]
    if not conn.execute(table.update().where(table.c.id == row_id).values({machine.column: to})).rowcount:
        raise errors.NotFound.of(machine.resource_name, row_id)


def set_rules_status(conn: Connection, instance_id: str, status: states.Rules) -> None:
    """Set the summary status of the share instance's rules."""
    _RULES_STATUS.execute(conn, {'instance_id': instance_id, 'to': status.value})


_RULES_STATUS = Write(
    models.share_instances.update()
    .where(models.share_instances.c.id == sa.bindparam('instance_id'))
    .values(access_rules_status=sa.bindparam('to', type_=models.share_instances.c.access_rules_status.type))
)


def set_replica_state(conn: Connection, instance_id: str, state: states.Replica) -> None:
    """Set the replica state of the share instance."""
    table = models.share_instances
    conn.execute(table.update().where(table.c.id == instance_id).values(replica_state=state.value))


def swap_task_state(
    conn: Connection, resource_type: str, row_id: str, allowed: Iterable[str | None], to: str | None
) -> bool:
    """Set the task state of a share or a share server to ``to`` if it is one of ``allowed``. Say whether it was."""
    table, known = _TASKS[resource_type], set(allowed)
    was: sa.ColumnElement[bool] = table.c.task_state.in_(
        sorted(value for value in known if value is not None)
    )
    if None in known:
        was = sa.or_(was, table.c.task_state.is_(None))
    return bool(conn.execute(table.update().where(table.c.id == row_id, was).values(task_state=to)).rowcount)


def set_task_state(conn: Connection, resource_type: str, row_id: str, value: str | None) -> None:
    """Set the task state of a share or a share server, from any other: by hand there are more than migrations have."""
    table = _TASKS[resource_type]
    conn.execute(table.update().where(table.c.id == row_id).values(task_state=value))


def _swap(
    conn: Connection,
    machine: states.StateMachine,
    row_ids: tuple[str, ...],
    allowed: Iterable[str],
    to: str,
    values: dict[str, Any],
) -> int:
    """Set ``values``, and the status ``to``, of those of the rows whose status is one of ``allowed``. Return their number."""
    swap = _swap_of(
        _TABLES[machine.resource_type], machine.column, tuple(sorted(allowed)), tuple(sorted(values))
    )
    return swap.execute(conn, row_ids, _new(to, values))


def _new(to: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {'to': to, **{f'new_{name}': value for name, value in values.items()}}


@functools.lru_cache(maxsize=1024)
def _swap_of(table: sa.Table, column: str, allowed: tuple[str, ...], names: tuple[str, ...]) -> WriteAmong:
    return WriteAmong(_update(table, column, allowed, names), table.c.id)


@functools.lru_cache(maxsize=1024)
def _swap_each_of(table: sa.Table, column: str, during: str, names: tuple[str, ...], own: str) -> WriteEach:
    return WriteEach(_update(table, column, (during,), names), table.c.id, table.c[own])


def _update(table: sa.Table, column: str, allowed: tuple[str, ...], names: tuple[str, ...]) -> sa.Update:
    new = {name: sa.bindparam(f'new_{name}', type_=table.c[name].type) for name in names}
    return (
        table.update()
        .where(one_of(table.c[column], allowed))
        .values({column: sa.bindparam('to', type_=table.c[column].type), **new})
    )
