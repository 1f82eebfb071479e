# SPDX-License-Identifier: Apache-2.0
"""Applying the access rules of snapshots at their backends: whenever the rules, or the host, may have changed."""

from collections.abc import Iterable

from manila_lite import context
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import snapshot_access
from manila_lite.engine.begin import Wake, begin_many_once, begin_once
from manila_lite.engine.plans import FAST


def begin(
    conn: Connection, ctx: context.RequestContext, snapshot_id: str, host: str, owner: str | None = None
) -> Wake:
    """Have the backend ``host`` apply all rules of the snapshot. Return its wake-up.

    ``owner``: the snapshot's project, if that may be another than the context's.
    """
    key = unique_key(snapshot_id)
    return begin_once(
        conn,
        ctx,
        snapshot_access.KIND,
        'snapshot',
        snapshot_id,
        topic='share',
        host=host,
        mutex_key=key,
        unique_key=key,
        lane=FAST,
        owner=owner,
    )


def unique_key(snapshot_id: str) -> str:
    """Return the key of the open operation on the rules of the snapshot."""
    return f'snapshot_access:{snapshot_id}'


def begin_all(
    conn: Connection,
    ctx: context.RequestContext,
    share_ids: Iterable[str],
    host: str,
    *,
    moved: bool = False,
    inheriting: bool = False,
) -> None:
    """Do as ``begin`` for every mountable snapshot of these shares, for its project, in a constant number of statements.
    Their worker finds the work by polling.

    ``moved``: drop the operations of the backend that had the snapshots before. ``inheriting``: only snapshots that
    clients of the share may mount.
    """
    mountable = snapshot_access.list_mountable(conn, share_ids, inheriting=inheriting)
    if not mountable:
        return
    if moved:
        rows.supersede_many(conn, mountable, (snapshot_access.KIND,))
    wanted = {unique_key(snapshot_id): snapshot_id for snapshot_id in mountable}
    begin_many_once(
        conn, ctx, snapshot_access.KIND, 'snapshot', wanted, mountable, topic='share', host=host, lane=FAST
    )
