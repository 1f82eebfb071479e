# SPDX-License-Identifier: Apache-2.0
"""Transfers of a share to another project: its owner offers it, and any project that knows the key may accept it.

Backends are not involved: nothing at a backend depends on the share's project.
"""

import datetime
import hmac
import secrets
import string
from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, states
from manila_lite.actions import access as rules
from manila_lite.actions import resource_locks, share_bin, share_guards, share_requests
from manila_lite.actions import snapshot_access as snapshot_rules
from manila_lite.context import RequestContext
from manila_lite.db.core import database_clock, transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import access, quotas, share_transfers, share_types, shares, snapshots
from manila_lite.rpc import notifications

_LETTERS = string.ascii_letters + string.digits
_SALT_BYTES = 16


def create(ctx: RequestContext, share_id: str, name: str | None) -> tuple[Any, str]:
    """Offer a share for transfer: it goes to ``awaiting_transfer``. Return the transfer's row and the key.

    The key cannot be read again later.

    :raises errors.WrongState: the share or one of its snapshots is not available.
    :raises errors.Invalid: the share cannot move to another project.
    :raises errors.Forbidden: the share or one of its rules is locked, and the caller may not lift the lock.
    """
    transfer_id, salt = uuidutils.generate_uuid(), secrets.token_hex(_SALT_BYTES)
    key = ''.join(secrets.choice(_LETTERS) for _ in range(ctx.conf.share_transfer_key_length))
    with ctx.db.writer() as conn:
        until = database_clock.time(conn) + datetime.timedelta(seconds=ctx.conf.transfer_retention_time)
        share = shares.get(conn, ctx, share_id, own=True)
        transitions.begin(conn, states.SHARE, 'transfer', share.instance_id)
        share_bin.must_be_as_read(conn, share)
        _must_be_free(conn, share)
        share_guards.must_have_no_replicas(conn, share)
        share_guards.must_have_no_backups(conn, share.id)
        resource_locks.delete_at_transfer(conn, ctx, share.id, transfer_id)
        share_transfers.insert(
            conn,
            {
                'id': transfer_id,
                'share_id': share.id,
                'project_id': share.project_id,
                'name': name,
                'salt': salt,
                'key_hash': _hash(salt, key),
                'expires_at': until,
            },
        )
        row = share_transfers.get(conn, ctx, transfer_id)
    _notify(ctx, 'create', row)
    return row, key


def _hash(salt: str, key: str) -> str:
    return hmac.new(salt.encode(), key.encode(), 'sha256').hexdigest()


def _must_be_free(conn: Connection, share: Row[Any]) -> None:
    """Refuse a share that is tied to its project.

    :raises errors.Invalid: the share is tied; the message names the reason.
    """
    reasons = {
        f"it is in share network {share.share_network_id}, which is its project's": share.share_network_id,
        f'it is a member of share group {share.share_group_id}': share.share_group_id,
        'its mount point name begins with the id of its project': (share.mount_point_name or '').startswith(
            share.project_id
        ),
    }
    for reason, true in reasons.items():
        if true:
            raise errors.Invalid(
                f'share_id: share {share.id} cannot be transferred: {reason}.', code='share_not_transferable'
            )
    busy = snapshots.list_unavailable(conn, share.id)
    if busy:
        raise errors.WrongState(
            f'Snapshot {busy[0].id} of share {share.id} is {busy[0].status}, not available.'
        )


def delete(ctx: RequestContext, transfer_id: str) -> None:
    """Withdraw a transfer. The share is available again.

    :raises errors.NotFound: there is no such transfer, or it was accepted just now.
    """
    with ctx.db.writer() as conn:
        transfer = share_transfers.get(conn, ctx, transfer_id)
        _end(conn, ctx, transfer)
    _notify(ctx, 'delete', transfer)


def _end(conn: Connection, ctx: RequestContext, transfer: Row[Any]) -> Row[Any]:
    """Delete the transfer and make the share available again. Return the share's row."""
    if not share_transfers.delete(conn, transfer.id):
        raise errors.NotFound.of('transfer', transfer.id)
    share = shares.get(conn, ctx.elevated(), transfer.share_id)
    transitions.finish(conn, states.SHARE, 'transfer', share.instance_id)
    return share


def accept(ctx: RequestContext, transfer_id: str, key: str, *, clear_rules: bool = False) -> None:
    """Accept a transfer: the share and its snapshots move to the caller's project and count against its quota.

    ``clear_rules``: remove all access rules of the share and of its snapshots. All locks are removed: the project that
    offered the share may lift them.

    :raises errors.NotFound: there is no such transfer, or it has expired.
    :raises errors.Invalid: the key is wrong, or the project may not use the share's type.
    :raises errors.Forbidden: the share was locked after it was offered.
    :raises errors.OverQuota: the quota of the project, the user or the type does not allow it.
    """
    with ctx.db.writer() as conn:
        transfer = share_transfers.get(conn, ctx.elevated(), transfer_id)
        if transfer.expires_at <= database_clock.time(conn):
            raise errors.NotFound.of('transfer', transfer_id)
        if not hmac.compare_digest(transfer.key_hash, _hash(transfer.salt, key)):
            raise errors.Invalid(
                f'auth_key: is not the key of transfer {transfer_id}.', code='wrong_auth_key'
            )
        access.lock(conn, transfer.share_id)
        resource_locks.must_have_no_new_locks(conn, transfer.share_id, transfer_id)
        share = _end(conn, ctx, transfer)
        _must_fit(conn, ctx, share)
        share_transfers.give_share(conn, share.id, ctx.project_id, ctx.user_id)
        given = shares.get(conn, ctx.elevated(), share.id)
        if clear_rules:
            rules.deny_all(conn, ctx, given)
            snapshot_rules.deny_all(conn, ctx, given)
    _notify(ctx, 'accept', transfer)


def _must_fit(conn: Connection, ctx: RequestContext, share: Row[Any]) -> None:
    """Refuse a share whose type the project may not use, or whose size or snapshots exceed its quota."""
    try:
        share_types.get(conn, ctx, share.share_type_id)
    except errors.NotFound:
        raise errors.Invalid(
            f'The project may not use the share type of share {share.id}; ask an administrator for access '
            'to it.',
            code='share_type_not_accessible',
        ) from None
    if share.project_id == ctx.project_id:
        return
    number, size = snapshots.sizes_of(conn, share.id)
    quotas.check(
        conn,
        ctx.conf,
        ctx.project_id,
        ctx.user_id,
        share.share_type_id,
        {
            **share_requests.quota_usage(share.size, share.replication_type),
            'snapshots': number,
            'snapshot_gigabytes': size,
            **quotas.count_new_keys(conn, ctx.project_id, share.encryption_key_ref),
        },
        one_share=share.size,
    )


def _notify(ctx: RequestContext, event: str, transfer: Row[Any]) -> None:
    notifications.emit(
        ctx,
        f'share.transfer.{event}',
        {'transfer_id': transfer.id, 'share_id': transfer.share_id, 'source_project_id': transfer.project_id},
    )
