# SPDX-License-Identifier: Apache-2.0
"""Checks of shares, their snapshots and access rules for the doctor: one statement for each.

Statuses are not written here: ``db/core/transitions.py`` does that. Every write names the values that were seen, so that it
changes nothing if another process was faster.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from manila_lite import states
from manila_lite.db import models
from manila_lite.db.doctor.operations import OPERATION_COLUMNS, UNDER_WAY, operation_on, since
from manila_lite.db.queries import (
    access,
    ensure,
    share_backups,
    share_migration,
    share_replicas,
    share_server_migration,
)

_operations = models.operations
_shares = models.shares
_instances = models.share_instances
_snapshots = models.snapshots
_rules = models.access_rules
_zones = models.availability_zones

_RESIZING = tuple(states.SHARE[verb].during for verb in ('extend', 'shrink', 'revert'))


def _shares_with_work() -> sa.Select[Any]:
    return (
        sa.select(
            _shares.c.id,
            _shares.c.project_id,
            _shares.c.user_id,
            _shares.c.size,
            _shares.c.target_size,
            _instances.c.id.label('instance_id'),
            _instances.c.host,
            _instances.c.status.label('state'),
            _instances.c.launched_at,
            _instances.c.access_rules_status,
            _zones.c.name.label('zone'),
            since(_instances),
            *OPERATION_COLUMNS,
        )
        .join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary))
        .outerjoin(_zones, _zones.c.id == _instances.c.availability_zone_id)
        .order_by(_shares.c.created_at, _shares.c.id)
    )


def _moving(status: Any, machine: states.StateMachine) -> sa.ColumnElement[bool]:
    """Return the condition that an operation moves the share server, and ends the status of its shares and snapshots."""
    return operation_on(
        _instances.c.share_server_id,
        _operations.c.kind == share_server_migration.KIND,
        status == machine['server_migrate'].during,
    )


def _being_ensured() -> sa.ColumnElement[bool]:
    """Return the condition that a run over its backend ends the ``ensuring`` status of an instance."""
    return sa.and_(
        _instances.c.status == states.SHARE['ensure'].during,
        _operations.c.kind == ensure.KIND,
        _operations.c.state.in_(UNDER_WAY),
        _instances.c.host.like(_operations.c.host + '#%'),
    )


def _being_promoted() -> sa.ColumnElement[bool]:
    """Return the condition that the promotion of another replica ends the status of the active one."""
    other = _instances.alias()
    return sa.and_(
        _instances.c.status == states.SHARE['promote'].during,
        _operations.c.kind == share_replicas.PROMOTE,
        _operations.c.state.in_(UNDER_WAY),
        sa.exists().where(other.c.id == _operations.c.resource_id, other.c.share_id == _shares.c.id),
    )


def _being_backed_up() -> sa.ColumnElement[bool]:
    """Return the condition that the operation of a backup ends the status of the share that is copied."""
    backups = models.share_backups
    to_it = sa.and_(
        _operations.c.kind == share_backups.CREATE,
        backups.c.share_id == _shares.c.id,
        _instances.c.status == states.SHARE['back_up'].during,
    )
    from_it = sa.and_(
        _operations.c.kind == share_backups.RESTORE,
        backups.c.target_share_id == _shares.c.id,
        _instances.c.status == states.SHARE['take_back'].during,
    )
    return sa.and_(
        _operations.c.state.in_(UNDER_WAY),
        sa.exists().where(backups.c.id == _operations.c.resource_id, sa.or_(to_it, from_it)),
    )


def _with_own_work() -> sa.Select[Any]:
    work = sa.or_(
        operation_on(_shares.c.id, _operations.c.kind != access.SYNC),
        _moving(_instances.c.status, states.SHARE),
        _being_ensured(),
        _being_promoted(),
        _being_backed_up(),
    )
    return _shares_with_work().outerjoin(_operations, work)


def list_shares(conn: Connection) -> list[Row[Any]]:
    """Return shares in a transient status, each with the operation that will end it, if there is one."""
    return list(conn.execute(_with_own_work().where(_instances.c.status.in_(states.SHARE.transient))))


def find_share(conn: Connection, share_id: str) -> Row[Any] | None:
    """Return one share as ``list_shares`` does, in any status."""
    return conn.execute(_with_own_work().where(_shares.c.id == share_id)).first()


def _snapshots_with_work() -> sa.Select[Any]:
    work = sa.or_(
        operation_on(_snapshots.c.id),
        _moving(_snapshots.c.status, states.SNAPSHOT),
        operation_on(
            _snapshots.c.share_id,
            _operations.c.kind == 'share.revert',
            _snapshots.c.status == states.SNAPSHOT['restore'].during,
        ),
        operation_on(
            _snapshots.c.share_id,
            _operations.c.kind == share_migration.KIND,
            _snapshots.c.status == states.SNAPSHOT['migrate'].during,
        ),
    )
    return (
        sa.select(
            _snapshots.c.id,
            _snapshots.c.project_id,
            _snapshots.c.user_id,
            _snapshots.c.size,
            _snapshots.c.share_id,
            _snapshots.c.status.label('state'),
            _instances.c.host,
            _instances.c.id.label('instance_id'),
            since(_snapshots),
            *OPERATION_COLUMNS,
        )
        .join(_instances, sa.and_(_instances.c.share_id == _snapshots.c.share_id, ~_instances.c.is_secondary))
        .outerjoin(_operations, work)
        .order_by(_snapshots.c.created_at, _snapshots.c.id)
    )


def list_snapshots(conn: Connection) -> list[Row[Any]]:
    """Return snapshots in a transient status, each with the operation that will end it, if there is one."""
    return list(
        conn.execute(_snapshots_with_work().where(_snapshots.c.status.in_(states.SNAPSHOT.transient)))
    )


def find_snapshot(conn: Connection, snapshot_id: str) -> Row[Any] | None:
    """Return one snapshot as ``list_snapshots`` does, in any status."""
    return conn.execute(_snapshots_with_work().where(_snapshots.c.id == snapshot_id)).first()


def list_rules(conn: Connection) -> list[Row[Any]]:
    """Return access rules in a transient state, each with the operation that will end it, if there is one."""
    return list(
        conn.execute(
            sa.select(
                _rules.c.id,
                _rules.c.share_id,
                _shares.c.project_id,
                _rules.c.state,
                _instances.c.host,
                since(_rules),
                *OPERATION_COLUMNS,
            )
            .join(_shares, _shares.c.id == _rules.c.share_id)
            .join(_instances, sa.and_(_instances.c.share_id == _shares.c.id, ~_instances.c.is_secondary))
            .outerjoin(_operations, operation_on(_rules.c.share_id, _operations.c.kind == access.SYNC))
            .where(_rules.c.state.in_(states.ACCESS.transient))
            .order_by(_rules.c.created_at, _rules.c.id)
        )
    )


def list_second_instances(conn: Connection) -> list[Row[Any]]:
    """Return second instances of shares, each with the operation that will end it, if there is one."""
    first = _instances.alias()
    work = sa.or_(
        operation_on(_shares.c.id, _operations.c.kind == share_migration.KIND),
        operation_on(
            _shares.c.id,
            _operations.c.kind.in_((share_migration.RELEASE, share_migration.CLEAR)),
            _operations.c.mutex_key == _instances.c.id,
        ),
    )
    return list(
        conn.execute(
            sa.select(
                _instances.c.id,
                _shares.c.id.label('share_id'),
                _shares.c.project_id,
                _shares.c.task_state,
                first.c.status.label('share_state'),
                _instances.c.host,
                _instances.c.status.label('state'),
                since(_instances),
                *OPERATION_COLUMNS,
            )
            .join(_shares, _shares.c.id == _instances.c.share_id)
            .join(first, sa.and_(first.c.share_id == _shares.c.id, ~first.c.is_secondary))
            .outerjoin(_operations, work)
            .where(_instances.c.is_secondary, _instances.c.replica_state.is_(None))
            .order_by(_instances.c.created_at, _instances.c.id)
        )
    )


def list_shares_without_rule_operation(conn: Connection) -> list[Row[Any]]:
    """Return shares whose rules count as being applied, without a rule or an operation for that."""
    on_the_way = sa.exists().where(
        _rules.c.share_id == _shares.c.id, _rules.c.state.in_(states.ACCESS.transient)
    )
    work = operation_on(_shares.c.id, _operations.c.kind == access.SYNC)
    return list(
        conn.execute(
            _shares_with_work()
            .outerjoin(_operations, work)
            .where(
                _instances.c.access_rules_status == states.Rules.SYNCING.value,
                _operations.c.id.is_(None),
                ~on_the_way,
            )
        )
    )


def _left_sizes(*conditions: Any) -> list[Any]:
    idle = sa.exists().where(
        _instances.c.share_id == _shares.c.id,
        ~_instances.c.is_secondary,
        _instances.c.status.not_in(_RESIZING),
    )
    work = sa.exists().where(operation_on(_shares.c.id, _operations.c.kind != access.SYNC))
    return [_shares.c.target_size.is_not(None), idle, ~work, *conditions]


def list_stale_target_sizes(conn: Connection) -> list[Row[Any]]:
    """Return shares that quota counts with the size of a resize that is not under way."""
    return list(
        conn.execute(
            sa.select(
                _shares.c.id, _shares.c.project_id, _shares.c.size, _shares.c.target_size, since(_shares)
            )
            .where(*_left_sizes())
            .order_by(_shares.c.created_at)
        )
    )


def clear_stale_target_size(conn: Connection, share_id: str) -> bool:
    """Have quota count the share with its present size. Say whether it did not."""
    return bool(
        conn.execute(
            _shares.update().where(*_left_sizes(_shares.c.id == share_id)).values(target_size=None)
        ).rowcount
    )
