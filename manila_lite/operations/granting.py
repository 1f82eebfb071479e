# SPDX-License-Identifier: Apache-2.0
"""How a backend comes to be told who may mount a share: whenever that, or where the share is, may have changed."""

from collections.abc import Iterable, Mapping
from typing import Any

from manila_lite import context
from manila_lite.db import access, shares
from manila_lite.db.engine import Connection
from manila_lite.operations.begin import Wake, begin_many_once, begin_once
from manila_lite.operations.plans import FAST


def tell_rules(conn: Connection, ctx: context.RequestContext, share_id: str, host: str,
               readonly: Mapping[str, bool] | None = None, data: dict[str, Any] | None = None) -> Wake:
    """The backend ``host`` will be told of all the rules; these instances have them read-only, or no longer."""
    for ident, value in (readonly or {}).items():
        shares.update_instance(conn, ident, cast_rules_to_readonly=value)
    key = access.open_key(share_id)
    return begin_once(conn, ctx, access.SYNC, 'share', share_id, topic='share', host=host, lane=FAST, serial=key,
                      open_key=key, data=data)


def tell_rules_of(conn: Connection, ctx: context.RequestContext, share_ids: Iterable[str], host: str) -> None:
    """As ``tell_rules``, of each of these shares. The worker of the backend is to be woken, or looks when it has the time."""
    begin_many_once(conn, ctx, access.SYNC, 'share', {access.open_key(ident): ident for ident in share_ids}, topic='share',
                    host=host, lane=FAST)
