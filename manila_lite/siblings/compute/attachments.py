# SPDX-License-Identifier: Apache-2.0
"""Attaching shares to servers, and detaching them: the requests. ``share_plans`` has the operations."""

from collections.abc import Mapping
from typing import Any

from manila_lite import engine, errors
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings import shares as share_service
from manila_lite.siblings.compute.actions import TOPIC
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.states import ATTACHMENT

#: Statuses of a server in which shares can be attached, and detached: no guest runs that uses them.
_ATTACH, _DETACH = frozenset({'stopped'}), frozenset({'stopped', 'error'})


def attach(ctx: RequestContext, who: Mapping[str, str], row: Any, share_id: str, tag: str) -> Any:
    """Begin to attach a share, and return the attachment. ``who``: headers that identify the user to the share service.

    :raises errors.NotFound: the caller sees no such share.
    :raises errors.Forbidden: the caller sees the share, but could not give access to it.
    :raises errors.Conflict: the state of the server, the host or the share does not allow it.
    :raises errors.Unavailable: the share service does not answer; nothing was stored.
    """
    _check_status(row, _ATTACH)
    with ctx.db.reader() as conn:
        host = store.host_report(conn, row.host)
    _check_host(host, row)
    assert host is not None  # else it was refused
    with ctx.waiting('the share service'):
        share, path = _share_and_path(ctx, who, share_id)
    if share.protocol.upper() not in host.protocols:
        raise errors.Conflict(
            f'Share {share_id} is served by {share.protocol}, which host {row.host} cannot mount.',
            code='share_protocol_not_supported',
        )
    with ctx.db.writer() as conn:
        if not store.lock_in_status(conn, row.id, 'stopped'):
            _check_status(store.server(conn, row.id), _ATTACH)
        most = ctx.conf.compute.max_attachments
        if len(store.attachments(conn, (row.id,))) >= most:
            raise errors.Conflict(
                f'The server has {errors.count(most, "share")}, which is the maximum.',
                code='too_many_attachments',
            )
        made = store.attach(
            conn,
            server_id=row.id,
            host=row.host,
            share_id=share_id,
            tag=tag,
            export_location=path,
            share_proto=share.protocol.upper(),
        )
        attachment = store.attachment(conn, row.id, share_id)
        _begin_operation(conn, ctx, row, 'attach', made['id'], share_id)
    return attachment


def detach(ctx: RequestContext, row: Any, share_id: str) -> None:
    """Begin to detach a share.

    :raises errors.WrongState: the server runs, or the share is being detached already.
    :raises errors.NotFound: the share is not attached.
    """
    _check_status(row, _DETACH)
    with ctx.db.writer() as conn:
        if not store.lock_in_status(conn, row.id, row.status):
            _check_status(store.server(conn, row.id), _DETACH)
        attachment = store.attachment(conn, row.id, share_id)
        transitions.begin(conn, ATTACHMENT, 'detach', attachment.id, fault=None)
        _begin_operation(conn, ctx, row, 'detach', attachment.id, share_id)


def _begin_operation(
    conn: Connection, ctx: RequestContext, row: Any, verb: str, attachment_id: str, share_id: str
) -> None:
    store.add_event(conn, row, f'share_{verb}', f'share {share_id}', ctx)
    engine.begin(
        conn,
        ctx,
        f'attachment.{verb}',
        'share attachment',
        attachment_id,
        topic=TOPIC,
        host=row.host,
        mutex_key=row.id,
        data={'server_id': row.id},
    )


def _check_status(row: Any, allowed: frozenset[str]) -> None:
    if row.status not in allowed:
        raise errors.WrongState(
            f'The server is {row.status}; shares are attached and detached while it is '
            f'{" or in ".join(sorted(allowed, reverse=True))}.'
        )


def _check_host(host: Any, row: Any) -> None:
    if host is None or not host.virtiofs:
        raise errors.Conflict(f'Host {row.host} has no virtiofs.', code='no_virtiofs')
    if not (host.shared_memory and row.spec.get('shared_memory')):
        raise errors.Conflict(
            'The server has no shared memory, which virtiofs needs; create a server with shared_memory.',
            code='no_shared_memory',
        )


def _share_and_path(ctx: RequestContext, who: Mapping[str, str], share_id: str) -> tuple[Any, str]:
    """Return the share and the path to mount, read with the user's rights."""
    shares = share_service.of_process(ctx.services)
    try:
        share = shares.share(who, share_id)
        exports = shares.exports(who, share_id)
    except (errors.NotFound, errors.Invalid, errors.Forbidden):
        raise errors.NotFound.of('share', share_id) from None
    share_service.check_may_give_access(shares, ctx, who, share)
    if share.status != 'available':
        raise errors.Conflict(
            f'Share {share_id} is {share.status}, and must be available.', code='share_not_available'
        )
    path = share_service.preferred(exports)
    if path is None:
        raise errors.Conflict(f'Share {share_id} has no export location.', code='share_not_exported')
    return share, path
