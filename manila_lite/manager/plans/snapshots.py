# SPDX-License-Identifier: Apache-2.0
"""Plans of snapshots at their share's backend: create, delete."""

import dataclasses
from collections.abc import Sequence

from manila_lite import errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import snapshots
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Work
from manila_lite.manager.plans import shares, snapshot_access
from manila_lite.manager.plans.task import as_snapshots, load_snapshot, verb_plan


def _row(conn: Connection, work: Work) -> str | None:
    return work.resource_id if snapshots.with_share(conn, work.resource_id) else None


def prepare(conn: Connection, works: Sequence[Work]) -> None:
    """Give each operation its snapshot as drivers see it, if clients cannot mount it, and no replica has to follow."""
    rows = {key: found for key, found in snapshots.with_shares(conn, [work.resource_id for work in works]).items()
            if not (found[1].replication_type or found[1].mount_snapshot_support)}
    loaded = {snapshot.id: snapshot for snapshot in as_snapshots(conn, list(rows.values()))}
    for work in works:
        work.loaded = loaded.get(work.resource_id)


def _load(work: Work) -> values.Snapshot:
    return work.loaded or load_snapshot(work, work.resource_id)


def create(work: Work) -> None:
    """Create the snapshot at the backend."""
    work.data['location'] = work.service.driver.create_snapshot(_load(work))
    if work.loaded is None:
        snapshot_access.first(work)


def created(conn: Connection, work: Work, snapshot_id: str) -> dict:
    """Store the snapshot's export locations. Return its location at the backend."""
    snapshot_access.first_done(conn, work)
    _follow(conn, work)
    return {'provider_location': work.data['location'], 'progress': '100%'}


def all_created(conn: Connection, works: Sequence[Work]) -> None:
    """End the creation of several snapshots that were loaded together, as ``created`` and the end of its verb do for one."""
    verb = states.SNAPSHOT['create']
    locations = {work.resource_id: work.data['location'] for work in works}
    transitions.settle_each(conn, states.SNAPSHOT, ('provider_location', locations), verb.during, verb.ok, progress='100%')


def _follow(conn: Connection, work: Work) -> None:
    rows = snapshots.with_share(conn, work.resource_id)
    if rows:
        shares.follow(conn, work, rows[1])


def delete(work: Work) -> None:
    """Delete the snapshot at the backend."""
    try:
        snapshot = _load(work)
    except errors.Final:
        return
    work.service.driver.delete_snapshot(snapshot)


def deleted(conn: Connection, work: Work, snapshot_id: str) -> None:
    """Have the freed capacity reported, and have replicas of the share delete the snapshot too."""
    _follow(conn, work)
    work.service.report_soon()


def all_deleted(conn: Connection, works: Sequence[Work]) -> None:
    """Delete the rows of several snapshots that were loaded together, as ``deleted`` and the end of its verb do for one."""
    transitions.remove(conn, states.SNAPSHOT, sorted(work.resource_id for work in works), states.SNAPSHOT['delete'].during)
    works[0].service.report_soon()


PLANS = [
    dataclasses.replace(
        verb_plan('snapshot.create', states.SNAPSHOT, 'create', create, on_done=created, row_id=_row,
                  action=Action.CREATE, detail=Detail.UNKNOWN_ERROR),
        prepare=prepare, done_many=all_created),
    dataclasses.replace(
        verb_plan('snapshot.delete', states.SNAPSHOT, 'delete', delete, on_done=deleted, row_id=_row,
                  action=Action.DELETE, detail=Detail.UNKNOWN_ERROR),
        prepare=prepare, done_many=all_deleted),
]
