# SPDX-License-Identifier: Apache-2.0
"""How a backend comes to be told who may mount a snapshot: whenever that, or where the snapshot is, may have changed."""

from collections.abc import Iterable

from manila_lite import context
from manila_lite.db import operations as rows
from manila_lite.db import snapshot_access
from manila_lite.db.engine import Connection
from manila_lite.operations.begin import Wake, begin_once
from manila_lite.operations.plans import FAST


def begin(conn: Connection, ctx: context.RequestContext, ident: str, host: str) -> Wake:
    """The backend ``host`` will be told of all rules of the snapshot. Returns the wake-up to send after the commit."""
    key = f'snapshot_access:{ident}'
    return begin_once(conn, ctx, snapshot_access.KIND, 'snapshot', ident, topic='share', host=host, serial=key, open_key=key,
                      lane=FAST)


def begin_all(conn: Connection, ctx: context.RequestContext, share_ids: Iterable[str], host: str, *,
              moved: bool = False, inheriting: bool = False) -> None:
    """As ``begin``, for every snapshot of these shares that can be mounted. Their worker looks when it is done with this.

    ``moved``: whoever was to be told before has it no more. ``inheriting``: only those that whoever mounts the share mounts.
    """
    for ident in snapshot_access.mountable(conn, share_ids, inheriting=inheriting):
        if moved:
            rows.drop_of(conn, ident, (snapshot_access.KIND,))
        begin(conn, ctx, ident, host)
