# SPDX-License-Identifier: Apache-2.0
"""Beginning of operations, and the wake-up of their workers."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from oslo_db import exception as db_exception

from manila_lite import context, errors, trace
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as rows
from manila_lite.engine.plans import WORK
from manila_lite.operation_data import OperationData


@dataclasses.dataclass(frozen=True)
class Wake:
    """The queue in which a new operation waits."""

    topic: str
    host: str
    operation_id: str
    lane: str

    def send(self, ctx: context.RequestContext) -> None:
        """Tell the worker. Never fails: a lost wake-up costs one poll interval."""
        ctx.bus.wake(self.topic, self.host or None, self.lane)


def begin(
    conn: Connection,
    ctx: context.RequestContext,
    kind: str,
    resource_type: str,
    resource_id: str,
    *,
    topic: str,
    host: str = '',
    data: OperationData | Mapping[str, Any] | None = None,
    mutex_key: str | None = None,
    unique_key: str | None = None,
    lane: str = WORK,
    owner: str | None = None,
) -> Wake:
    """Insert the operation in the caller's transaction. Its worker is told after the commit. Return the wake-up.

    ``owner``: the project of the resource; without it, the caller's. The operation belongs to it whoever asked: it sees the
    operation and its events, its turns are used, and it gets the user messages.

    :raises errors.WrongState: another operation with this key is open. That is so if a status was reset by hand meanwhile.
    """
    ctx.resource_uuid = ctx.resource_uuid or resource_id
    try:
        operation_id = rows.insert(
            conn,
            **_row(
                ctx,
                host,
                data,
                owner,
                kind=kind,
                resource_type=resource_type,
                resource_id=resource_id,
                topic=topic,
                mutex_key=mutex_key,
                unique_key=unique_key,
                lane=lane,
            ),
        )
    except db_exception.DBDuplicateEntry:
        name = resource_type.replace('_', ' ')
        raise errors.WrongState(f'Another operation on {name} {resource_id} has not ended.') from None
    return wake_up(ctx, topic, host, operation_id, lane)


def begin_once(
    conn: Connection,
    ctx: context.RequestContext,
    kind: str,
    resource_type: str,
    resource_id: str,
    *,
    topic: str,
    host: str,
    unique_key: str,
    lane: str = WORK,
    **more: Any,
) -> Wake:
    """Have the open operation with this key run once more before it ends, or begin it if none is open."""
    operation_id = rows.request_rerun(conn, unique_key)
    if operation_id is not None:
        return wake_up(ctx, topic, host, operation_id, lane)
    return begin(
        conn,
        ctx,
        kind,
        resource_type,
        resource_id,
        topic=topic,
        host=host,
        unique_key=unique_key,
        lane=lane,
        **more,
    )


def wake_up(ctx: context.RequestContext, topic: str, host: str, operation_id: str, lane: str) -> Wake:
    """Have the worker told after the commit that the operation waits in this queue. Return the wake-up."""
    wake = Wake(topic, backend_of(host), operation_id, lane)
    ctx.db.afterwards(functools.partial(wake.send, ctx))
    return wake


def begin_many_once(
    conn: Connection,
    ctx: context.RequestContext,
    kind: str,
    resource_type: str,
    resources: Mapping[str, str],
    owners: Mapping[str, str],
    *,
    topic: str,
    host: str,
    lane: str = WORK,
) -> None:
    """Do as ``begin_once`` for each of these ids, in a constant number of statements. Each has one key, for both purposes.

    ``owners``: the projects of the resources, by id. Their worker is told once, after the commit.
    """
    if not resources:
        return
    known = rows.request_reruns(conn, resources)
    rows.insert_many(
        conn,
        [
            _row(
                ctx,
                host,
                None,
                owners.get(resource_id),
                kind=kind,
                resource_type=resource_type,
                resource_id=resource_id,
                topic=topic,
                mutex_key=key,
                unique_key=key,
                lane=lane,
            )
            for key, resource_id in resources.items()
            if key not in known
        ],
    )
    wake_up(ctx, topic, host, '', lane)  # no receiver looks at the ids: all that wait in the queue are meant


def _row(
    ctx: context.RequestContext,
    host: str,
    data: OperationData | Mapping[str, Any] | None,
    owner: str | None,
    **values: Any,
) -> dict[str, Any]:
    stored = data.to_json() if isinstance(data, OperationData) else dict(data or {})
    return {
        **values,
        'host': backend_of(host),
        'data': stored | trace.carried(ctx.conf),
        'project_id': owner or ctx.project_id,
        'user_id': ctx.user_id,
        'request_id': ctx.request_id,
    }


def backend_of(host: str) -> str:
    """Return ``host@backend#pool`` without the pool."""
    return host.partition('#')[0]
