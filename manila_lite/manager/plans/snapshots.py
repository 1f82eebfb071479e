# SPDX-License-Identifier: Apache-2.0
"""Plans of snapshots at their share's backend: create, delete."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from manila_lite import errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import snapshot_access as snapshot_rules
from manila_lite.db.queries import snapshots
from manila_lite.db.queries.messages import Action
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import shares, snapshot_access
from manila_lite.manager.plans.task import as_snapshots, load_snapshot
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.snapshots import CreateSnapshot
from manila_lite.workflow.verbs import snapshot_id, verb_plan


class _Loaded(NamedTuple):
    """A snapshot without access rules, whose share has no replicas; and its share's row."""

    snapshot: values.Snapshot
    share: Any


def prepare(conn: Connection, works: Sequence[Work[Any]]) -> None:
    """Give each operation its snapshot as drivers see it, if it has no access rules and no replica has to follow."""
    found = snapshots.with_shares(conn, [work.resource_id for work in works])
    served = snapshot_rules.list_snapshots_with_any(conn, found)
    rows = {
        key: (row, share)
        for key, (row, share) in found.items()
        if key not in served and not (share.replication_type or share.snapshot_inherit_share_access_support)
    }
    loaded = {snapshot.id: snapshot for snapshot in as_snapshots(conn, list(rows.values()))}
    for work in works:
        row = rows.get(work.resource_id)
        work.loaded = _Loaded(loaded[work.resource_id], row[1]) if row else None


def _load(work: Work[Any]) -> values.Snapshot:
    return work.loaded.snapshot if work.loaded else load_snapshot(work, work.resource_id)


def create(work: Work[CreateSnapshot]) -> None:
    """Create the snapshot at the backend, and export it there if clients may mount it."""
    work.data.location = work.service.driver.create_snapshot(_load(work))
    if work.loaded:
        snapshot_access.serve_first(work, work.loaded.snapshot, work.loaded.share, [])
    else:
        snapshot_access.first(work)


def created(conn: Connection, work: Work[CreateSnapshot], snapshot_id: str) -> dict[str, Any]:
    """Store the snapshot's export locations. Return its location at the backend."""
    snapshot_access.first_done(conn, work)
    _follow(conn, work)
    return {'provider_location': work.data.location, 'progress': '100%'}


def all_created(conn: Connection, works: Sequence[Work[CreateSnapshot]]) -> None:
    """End the creation of several snapshots that were loaded together, as ``created`` and the end of its verb do for one."""
    verb = states.SNAPSHOT['create']
    locations = {work.resource_id: work.data.location for work in works}
    snapshot_rules.set_export_locations_of(
        conn, {work.resource_id: work.data.exports for work in works}, new=True
    )
    transitions.settle_each(
        conn, states.SNAPSHOT, ('provider_location', locations), verb.during, str(verb.ok), progress='100%'
    )


def _follow(conn: Connection, work: Work[Any]) -> None:
    rows = snapshots.with_share(conn, work.resource_id)
    if rows:
        shares.follow(conn, work, rows[1])


def delete(work: Work[Any]) -> None:
    """Delete the snapshot at the backend."""
    try:
        snapshot = _load(work)
    except errors.Final:
        return
    work.service.driver.delete_snapshot(snapshot)


def deleted(conn: Connection, work: Work[Any], snapshot_id: str) -> None:
    """Have the freed capacity reported, and have replicas of the share delete the snapshot too."""
    _follow(conn, work)
    work.service.report_soon()


def all_deleted(conn: Connection, works: Sequence[Work[Any]]) -> None:
    """Delete the rows of several snapshots that were loaded together, as ``deleted`` and the end of its verb do for one."""
    transitions.remove(
        conn, states.SNAPSHOT, sorted(work.resource_id for work in works), states.SNAPSHOT['delete'].during
    )
    works[0].service.report_soon()


PLANS: list[Plan[Any]] = [
    dataclasses.replace(
        verb_plan(
            'snapshot.create',
            CreateSnapshot,
            states.SNAPSHOT,
            'create',
            Step(create),
            on_done=created,
            row_id=snapshot_id,
            action=Action.CREATE,
        ),
        prepare=prepare,
        done_many=all_created,
    ),
    dataclasses.replace(
        verb_plan(
            'snapshot.delete',
            OperationData,
            states.SNAPSHOT,
            'delete',
            Step(delete),
            on_done=deleted,
            row_id=snapshot_id,
            action=Action.DELETE,
        ),
        prepare=prepare,
        done_many=all_deleted,
    ),
]
