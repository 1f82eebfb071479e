# SPDX-License-Identifier: Apache-2.0
"""Refusals of shares that several actions have in common.

Those that take a connection are called after the share's status was changed, or while the share is held. Then the answer
stays true until the transaction ends.
"""

from typing import Any

from manila_lite import errors
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import (
    share_backups,
    share_migration,
    share_replicas,
    share_server_migration,
    snapshots,
)


def must_be_placed(share: Row[Any]) -> None:
    """Refuse a share that is on no backend.

    :raises errors.WrongState: the share has no host.
    """
    if not share.host:
        raise errors.WrongState(f'Share {share.id} has no host: it was never created at a backend.')


def must_support_snapshots(share: Row[Any]) -> None:
    """Refuse a snapshot of a share whose type has none.

    :raises errors.Invalid: the type does not support snapshots.
    """
    if not share.snapshot_support:
        raise errors.Invalid(
            f'share_id: the share type of share {share.id} does not support snapshots.',
            code='snapshots_not_supported',
        )


def must_not_be_migrating(conn: Connection, share: Row[Any]) -> None:
    """Refuse a share that is being migrated, alone or with its share server. Its copy would be left at the destination.

    :raises errors.WrongState: a migration is under way, or its cut-over failed and can be repeated.
    """
    if share_migration.is_going_on(conn, share.id):
        raise errors.WrongState(f'Share {share.id} is being moved to another backend; cancel that first.')
    must_not_move_with_server(conn, share)


def must_not_move_with_server(conn: Connection, share: Row[Any]) -> None:
    """Refuse a share whose share server is being migrated, also if the cut-over failed and can be repeated.

    :raises errors.WrongState: there is such a migration.
    """
    if share.share_server_id and share_server_migration.is_unfinished(conn, share.share_server_id):
        raise errors.WrongState(
            f'Share {share.id} is being moved to another backend with its share server; that has to be '
            'completed or cancelled first.'
        )


def must_have_no_replicas(conn: Connection, share: Row[Any]) -> None:
    """Refuse a share that has replicas beside the active one.

    :raises errors.Conflict: the share has such replicas.
    """
    if share.replication_type and (count := share_replicas.count_of(conn, share.id)):
        raise errors.Conflict(
            f'Share {share.id} has {errors.count(count, "replica")} in addition to the active one; '
            f'delete {errors.them(count)} first.',
            code='share_has_replicas',
        )


def must_have_no_backups(conn: Connection, share_id: str) -> None:
    """Refuse a share that has backups, which would remain without it.

    :raises errors.Forbidden: there are backups.
    """
    if count := share_backups.count_of(conn, share_id):
        raise errors.Forbidden(
            f'Share {share_id} has {errors.count(count, "backup")}; delete {errors.them(count)} first.',
            code='share_has_backups',
        )


def must_have_no_snapshots(conn: Connection, share_id: str) -> None:
    """Refuse a share that has snapshots, except those whose deletion is deferred.

    :raises errors.Forbidden: there are snapshots.
    """
    if count := snapshots.count_of(conn, share_id, seen=True):
        raise errors.Forbidden(
            f'Share {share_id} has {errors.count(count, "snapshot")}; delete {errors.them(count)} first.',
            code='share_has_snapshots',
        )
