# SPDX-License-Identifier: Apache-2.0
"""Plans of snapshots at their share's backend: create, delete."""

from manila_lite import errors, states
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import snapshots
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.engine import Work
from manila_lite.manager.plans import shares, snapshot_access
from manila_lite.manager.plans.task import load_snapshot, verb_plan


def _row(conn: Connection, work: Work) -> str | None:
    return work.resource_id if snapshots.with_share(conn, work.resource_id) else None


def create(work: Work) -> None:
    """Create the snapshot at the backend."""
    work.data['location'] = work.service.driver.create_snapshot(load_snapshot(work, work.resource_id))
    snapshot_access.first(work)


def created(conn: Connection, work: Work, snapshot_id: str) -> dict:
    """Store the snapshot's export locations. Return its location at the backend."""
    snapshot_access.first_done(conn, work)
    _follow(conn, work)
    return {'provider_location': work.data['location'], 'progress': '100%'}


def _follow(conn: Connection, work: Work) -> None:
    rows = snapshots.with_share(conn, work.resource_id)
    if rows:
        shares.follow(conn, work, rows[1])


def delete(work: Work) -> None:
    """Delete the snapshot at the backend."""
    try:
        snapshot = load_snapshot(work, work.resource_id)
    except errors.Final:
        return
    work.service.driver.delete_snapshot(snapshot)


def deleted(conn: Connection, work: Work, snapshot_id: str) -> None:
    """Have the freed capacity reported, and have replicas of the share delete the snapshot too."""
    _follow(conn, work)
    work.service.report_soon()


PLANS = [
    verb_plan('snapshot.create', states.SNAPSHOT, 'create', create, on_done=created, row_id=_row,
              action=Action.CREATE, detail=Detail.UNKNOWN_ERROR),
    verb_plan('snapshot.delete', states.SNAPSHOT, 'delete', delete, on_done=deleted, row_id=_row,
              action=Action.DELETE, detail=Detail.UNKNOWN_ERROR),
]
