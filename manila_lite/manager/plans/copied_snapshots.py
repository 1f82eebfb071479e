# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a share that a host copies: the content of each is copied, oldest first, and taken again at the destination."""

from manila_lite import values
from manila_lite.db.queries import share_migration, snapshot_access
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Work

#: Key of the operation's data: the provider locations of snapshots at the destination by their ids, once they are taken.
_TAKEN = 'snapshots_taken'


def objection(work: Work, migration: values.ShareMigration) -> str:
    """Return why this host cannot copy the snapshots of the share, or ''."""
    if not migration.snapshots:
        return ''
    if values.Ability.SNAPSHOT not in abilities_of(work.service.driver):
        return 'The destination takes no snapshots.'
    if migration.source_host == work.service.host:
        return 'A host copies no snapshots within one backend.'
    if work.service.moves.has_snapshots_inside(migration.source):
        return ''
    with work.ctx.db.reader() as conn:
        mountable = set(snapshot_access.list_mountable(conn, (work.resource_id,)))
    return '' if {one.id for one in migration.snapshots} <= mountable else (
        'The host cannot mount the snapshots: the share type has no mount_snapshot_support.')


def next_of(work: Work, migration: values.ShareMigration) -> values.Snapshot | None:
    """Return the oldest snapshot that is not at the destination yet."""
    by_id = {snapshot.id: snapshot for snapshot in migration.snapshots}
    with work.ctx.db.reader() as conn:
        ordered = sorted(share_migration.snapshots_of(conn, work.resource_id), key=lambda row: (row.created_at, row.id))
    return next((by_id[row.id] for row in ordered if row.id in by_id and row.id not in taken(work)), None)


def share_done(work: Work, migration: values.ShareMigration) -> float:
    """Return the part of all first passes that is complete: one for each snapshot, and one for the share."""
    return len(taken(work)) / (len(migration.snapshots) + 1)


def take(work: Work, snapshot: values.Snapshot, target: values.Share) -> None:
    """Take the snapshot at the destination, whose content is that of the snapshot at the source."""
    location = work.service.driver.create_snapshot(values.Snapshot(snapshot.id, target, snapshot.size))
    work.data[_TAKEN] = {**taken(work), snapshot.id: location}


def taken(work: Work) -> dict[str, str | None]:
    """Return the provider locations of the snapshots at the destination, by their ids."""
    found: dict[str, str | None] = work.data.get(_TAKEN, {})
    return found


def locations_of(work: Work, snapshot: values.Snapshot) -> tuple[values.ExportLocation, ...]:
    """Return the export locations of a snapshot at the source."""
    with work.ctx.db.reader() as conn:
        found = snapshot_access.export_locations_of(conn, snapshot.id, hidden=True)
    return tuple(values.ExportLocation(row.path, False, row.is_admin_only) for row in found)


def delete(work: Work, migration: values.ShareMigration) -> None:
    """Delete the snapshots at the destination."""
    if values.Ability.SNAPSHOT in abilities_of(work.service.driver):
        for snapshot in migration.snapshots:
            work.service.driver.delete_snapshot(values.Snapshot(snapshot.id, migration.target, snapshot.size))
