# SPDX-License-Identifier: Apache-2.0
"""Applying the access rules of shares at their backends: whenever the rules, or the host of a share, may have changed."""

from collections.abc import Iterable, Mapping

from manila_lite import context
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, shares
from manila_lite.engine.begin import Wake, begin_many_once, begin_once
from manila_lite.engine.plans import FAST
from manila_lite.operation_data.access import ApplyRules


def apply_rules(
    conn: Connection,
    ctx: context.RequestContext,
    share_id: str,
    host: str,
    readonly: Mapping[str, bool] | None = None,
    data: ApplyRules | None = None,
    owner: str | None = None,
) -> Wake:
    """Have the backend ``host`` apply all rules of the share. ``readonly``: whether instances have them read-only.
    ``owner``: the share's project, if that may be another than the context's.
    """
    for instance_id, value in (readonly or {}).items():
        shares.update_instance(conn, instance_id, cast_rules_to_readonly=value)
    key = access.unique_key(share_id)
    return begin_once(
        conn,
        ctx,
        access.SYNC,
        'share',
        share_id,
        topic='share',
        host=host,
        lane=FAST,
        mutex_key=key,
        unique_key=key,
        data=data,
        owner=owner,
    )


def apply_rules_of(
    conn: Connection, ctx: context.RequestContext, share_ids: Iterable[str], host: str
) -> None:
    """Do as ``apply_rules`` for each of these shares, for its project, in a constant number of statements."""
    ids = tuple(share_ids)
    begin_many_once(
        conn,
        ctx,
        access.SYNC,
        'share',
        {access.unique_key(share_id): share_id for share_id in ids},
        shares.owners_of(conn, ids),
        topic='share',
        host=host,
        lane=FAST,
    )
