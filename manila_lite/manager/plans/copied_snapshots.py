# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a share that a host copies: the content of each is copied, oldest first, and taken again at the destination."""

from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import values
from manila_lite.db.queries import share_migration, snapshot_access
from manila_lite.drivers.interface import abilities_of
from manila_lite.manager.plans.host_access import ShareCopy


def objection(copy: ShareCopy) -> str:
    """Return why this host cannot copy the snapshots of the share, or ''."""
    migration, work = copy.migration, copy.work
    if not migration.snapshots:
        return ''
    if values.Ability.SNAPSHOT not in abilities_of(work.service.driver):
        return 'The destination takes no snapshots.'
    if migration.source_host == work.service.host:
        return 'A host copies no snapshots within one backend.'
    if copy.moves.has_snapshots_inside(migration.source):
        return ''
    with work.ctx.db.reader() as conn:
        mountable = set(snapshot_access.list_mountable(conn, (copy.share_id,)))
    return (
        ''
        if {one.id for one in migration.snapshots} <= mountable
        else ('The host cannot mount the snapshots: the share type has no mount_snapshot_support.')
    )


def next_of(copy: ShareCopy) -> values.Snapshot | None:
    """Return the oldest snapshot that is not at the destination yet."""
    by_id = {
        snapshot.id: snapshot
        for snapshot in copy.migration.snapshots
        if snapshot.id not in copy.data.snapshots_taken
    }
    if not by_id:
        return None
    with copy.work.ctx.db.reader() as conn:
        ordered = sorted(
            share_migration.snapshots_of(conn, copy.share_id), key=lambda row: (row.created_at, row.id)
        )
    return next((by_id[row.id] for row in ordered if row.id in by_id), None)


def take(copy: ShareCopy, snapshot: values.Snapshot) -> None:
    """Take the snapshot at the destination, whose content is that of the snapshot at the source."""
    copy.data.snapshots_taken[snapshot.id] = copy.work.service.driver.create_snapshot(
        values.Snapshot(snapshot.id, copy.target, snapshot.size)
    )


def locations_of(copy: ShareCopy, snapshot: values.Snapshot) -> tuple[values.ExportLocation, ...]:
    """Return the export locations of a snapshot at the source."""
    with copy.work.ctx.db.reader() as conn:
        found = snapshot_access.export_locations_of(conn, snapshot.id, hidden=True)
    return tuple(values.ExportLocation(row.path, False, row.is_admin_only) for row in found)


def delete(driver: Any, snapshots: Iterable[values.Snapshot], targets: Mapping[str, values.Share]) -> None:
    """Delete the snapshots at the destination. ``targets``: the shares there, by the ids of those at the source."""
    if values.Ability.SNAPSHOT in abilities_of(driver):
        for snapshot in snapshots:
            driver.delete_snapshot(values.Snapshot(snapshot.id, targets[snapshot.share.id], snapshot.size))
