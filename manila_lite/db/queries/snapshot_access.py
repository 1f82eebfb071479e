# SPDX-License-Identifier: Apache-2.0
"""Access rules and export locations of snapshots. Rules are changed behind ``access.lock`` of the snapshot's share."""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils
from sqlalchemy.engine import Connection, Row

from manila_lite import errors, values
from manila_lite.db import models
from manila_lite.db.core.prepared import Among, Write, one_of
from manila_lite.db.core.rows import get_row
from manila_lite.db.queries import access

_rules = models.snapshot_access_rules
_exports = models.snapshot_export_locations
_snapshots = models.snapshots
_shares = models.shares

#: The operation that tells the backend a snapshot's rules, and stores its export locations.
KIND = 'snapshot.serve'
#: States of rules that are in force, or will be as soon as the backend was told; and states that an operation has to
#: end.
_GRANTED = ('active', 'queued_to_apply', 'applying')
_PENDING = ('queued_to_apply', 'applying', 'queued_to_deny', 'denying')
#: Statuses of snapshots that are not exported, unless they have export locations.
_NEVER_MADE = ('error', 'manage_error')


# Rules ------------------------------------------------------------------------------------------


def get(conn: Connection, snapshot_id: str, rule_id: str) -> Row[Any]:
    """Return a rule of a snapshot.

    :raises errors.NotFound: there is none.
    """
    query = sa.select(_rules).where(_rules.c.id == rule_id, _rules.c.snapshot_id == snapshot_id)
    return get_row(conn, query, 'snapshot access rule', rule_id)


def of_snapshot(conn: Connection, snapshot_id: str, states: Collection[str] | None = None) -> list[Row[Any]]:
    """Return a snapshot's rules, oldest first: all, or those in one of these states."""
    query = (
        sa.select(_rules)
        .where(_rules.c.snapshot_id == snapshot_id)
        .order_by(_rules.c.created_at, _rules.c.id)
    )
    return list(conn.execute(query if states is None else query.where(_rules.c.state.in_(tuple(states)))))


def of_share(conn: Connection, share_id: str) -> list[Row[Any]]:
    """Return the rules of all snapshots of a share."""
    return list(
        conn.execute(
            sa.select(_rules)
            .join(_snapshots, _snapshots.c.id == _rules.c.snapshot_id)
            .where(_snapshots.c.share_id == share_id)
        )
    )


def pending_rules(conn: Connection, snapshot_id: str) -> list[Row[Any]]:
    """Return the rules of which the backend was not told yet, or was being told when the process died."""
    return of_snapshot(conn, snapshot_id, _PENDING)


def granted_rules(conn: Connection, snapshot_id: str, share_id: str | None = None) -> list[values.AccessRule]:
    """Return the rules that shall be in force, as drivers see them: read-only, including those of the share ``share_id``."""
    own = [
        values.AccessRule(row.id, row.access_type, row.access_to, 'ro')
        for row in of_snapshot(conn, snapshot_id, _GRANTED)
    ]
    known = {(rule.type, rule.to) for rule in own}
    shared = access.granted_rules(conn, (share_id,)).get(share_id, []) if share_id else []
    return own + [
        values.AccessRule(rule.id, rule.type, rule.to, 'ro')
        for rule in shared
        if (rule.type, rule.to) not in known
    ]


def list_snapshots_with_any(conn: Connection, snapshot_ids: Iterable[str]) -> set[str]:
    """Return those of the snapshots that have rules."""
    return set(
        conn.execute(
            sa.select(_rules.c.snapshot_id).distinct().where(_rules.c.snapshot_id.in_(tuple(snapshot_ids)))
        ).scalars()
    )


# Export locations -------------------------------------------------------------------------------


def export_locations_of(conn: Connection, snapshot_id: str, *, hidden: bool = False) -> list[Row[Any]]:
    """Return a snapshot's export locations, in the backend's order; with ``hidden``, also those for administrators only."""
    query = sa.select(_exports).where(_exports.c.snapshot_id == snapshot_id).order_by(_exports.c.position)
    return list(conn.execute(query if hidden else query.where(~_exports.c.is_admin_only)))


def get_export_location(
    conn: Connection, snapshot_id: str, location_id: str, *, hidden: bool = False
) -> Row[Any]:
    """Return one export location of a snapshot.

    :raises errors.NotFound: there is none.
    """
    for row in export_locations_of(conn, snapshot_id, hidden=hidden):
        if row.id == location_id:
            return row
    raise errors.NotFound.of('export location', location_id)


def set_export_locations_of(
    conn: Connection, wanted: Mapping[str, Sequence[values.ExportLocation]], *, new: bool = False
) -> None:
    """Set the export locations of snapshots, by id, in the same number of statements for any number. Paths that stay keep
    their ids. ``new``: none of them has any yet.
    """
    old = {} if new else {(row.snapshot_id, row.path): row for row in _EXPORTS_OF.all(conn, tuple(wanted))}
    fresh, changed = [], []
    for snapshot_id, locations in wanted.items():
        for position, location in enumerate(locations):
            values = {'position': position, 'path': location.path, 'is_admin_only': location.is_admin_only}
            if (row := old.pop((snapshot_id, location.path), None)) is None:
                fresh.append({'id': uuidutils.generate_uuid(), 'snapshot_id': snapshot_id, **values})
            elif (row.position, row.is_admin_only) != (position, location.is_admin_only):
                changed.append(
                    {'location_id': row.id, 'new_position': position, 'admin': location.is_admin_only}
                )
    if old:
        conn.execute(_exports.delete().where(_exports.c.id.in_([row.id for row in old.values()])))
    _KEPT_EXPORT.execute_many(conn, changed)
    _ADD_EXPORT.execute_many(conn, fresh)


_KEPT_EXPORT = Write(
    _exports.update()
    .where(_exports.c.id == sa.bindparam('location_id'))
    .values(position=sa.bindparam('new_position'), is_admin_only=sa.bindparam('admin'))
)
_EXPORTS_OF = Among(sa.select(_exports), _exports.c.snapshot_id, named=True)
_ADD_EXPORT = Write(_exports.insert())


# Snapshots --------------------------------------------------------------------------------------


def list_mountable(conn: Connection, share_ids: Iterable[str], *, inheriting: bool = False) -> dict[str, str]:
    """Return all snapshots of these shares that can be mounted, or could be until now: project by id. ``inheriting``: only
    where the share's rules apply to its snapshots.
    """
    return dict(_mountable(inheriting=inheriting).all(conn, tuple(share_ids)))


@functools.cache
def _mountable(*, inheriting: bool) -> Among:
    more = [_shares.c.snapshot_inherit_share_access_support] if inheriting else []
    # A snapshot that came to be in error later stays exported, and clients that are denied must lose access. A snapshot
    # whose share got another type is not exported any more.
    can = sa.or_(
        sa.and_(_shares.c.mount_snapshot_support, sa.not_(one_of(_snapshots.c.status, _NEVER_MADE))),
        sa.exists().where(_exports.c.snapshot_id == _snapshots.c.id),
    )
    return Among(
        sa.select(_snapshots.c.id, _snapshots.c.project_id)
        .join(_shares, _shares.c.id == _snapshots.c.share_id)
        .where(can, ~_snapshots.c.deletion_deferred, *more)
        .order_by(_snapshots.c.id),
        _shares.c.id,
    )
