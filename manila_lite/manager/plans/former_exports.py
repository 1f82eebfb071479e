# SPDX-License-Identifier: Apache-2.0
"""The end of the exports that a share leaves: nobody reads at the former path once the move counts as a success.

At the target's backend ``close`` is the last step of a migration. It has the source's backend end the exports, with an
operation of its own, and waits for that. Clients do not wait longer than ``[operations] lease`` for a source that is down:
they get the share at its new place, and the task state stays ``migration_completing``, which is not yet a success, until the
source is up and has deleted its copy. An administrator who knows that nobody can read there sets the task state by hand.
"""

from collections.abc import Callable
from typing import Any

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import (
    services,
    share_migration,
    share_server_migration,
    snapshot_access,
    snapshots,
)
from manila_lite.engine import Plan, Step, Work, backend_of, nothing
from manila_lite.host import clock
from manila_lite.manager.plans.task import as_shares, as_snapshots
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.left_copies import Left
from manila_lite.operation_data.migrations import CloseShare, Migrate
from manila_lite.states import Migration
from manila_lite.workflow.migration import M, Migrations

#: Seconds between looks whether the source's backend has done its part. Nobody can use the share meanwhile.
_LOOK = 0.1


# At the target's backend ------------------------------------------------------------------------------


def forget(work: Work[Migrate]) -> None:
    """Forget the answer of the source's backend: a repeated cut-over tells it once more."""
    work.data.closing, work.data.closing_since, work.data.closed = None, None, False


def close(work: Work[M], migrations: Migrations[M]) -> None:
    """Have the source's backend end the former exports, and keep whether it did.

    :raises errors.Again: it goes on.
    """
    data = work.data
    if data.closing_since is None:
        with work.writer() as conn:
            knows_how = _knows_how(conn, data.source_host)
            wake = migrations.close(conn, work.ctx, work.resource_id, data) if knows_how else None
        data.closing = wake.operation_id if wake else None
        data.closing_since = clock.timestamp()
    data.closed = data.closing is None or _has_ended(work, data.closing, data.closing_since)


def _knows_how(conn: Connection, host: str) -> bool:
    """Say whether the share manager of a backend has these operations: the release before, which tells no release, has none.

    With such a source a move counts as a success before the former exports have ended, as in that release.
    """
    managers = services.list_services(conn, {'host': backend_of(host), 'binary': 'manila-share'})
    return not managers or services.release_of(managers[0]) is not None


def _has_ended(work: Work[Any], operation_id: str, since: float) -> bool:
    """Say whether the source's backend ended the exports. ``since``: the time when it was told.

    :raises errors.Again: it has not done it yet.
    """
    with work.ctx.db.reader() as conn:
        op = rows.get(conn, operation_id)
    waited = clock.timestamp() - since
    if op is not None and op.state == rows.OPEN and waited < work.ctx.conf.operations.lease:
        raise errors.Again(_LOOK)
    return op is not None and op.state == rows.DONE


# At the source's backend ------------------------------------------------------------------------------


def source_is_gone(conn: Connection, work: Work[Left], moves_on: Callable[[Connection, str], bool]) -> None:
    """Let the migration count as a success, after the deletion of its source.

    ``moves_on`` says of the resource whether a later migration of it began, to which the task state belongs now: an
    administrator knew that nobody reads at the place from which this one moved it.
    """
    moved = work.data.former_export_of
    if moved and not moves_on(conn, moved):
        transitions.swap_task_state(
            conn, work.op.resource_type, moved, (Migration.COMPLETING,), Migration.SUCCESS
        )


def close_share(work: Work[CloseShare]) -> None:
    """Admit nobody to the share and its snapshots, unless the share has moved meanwhile."""
    with work.ctx.db.reader() as conn:
        rows_of = [
            row
            for row in share_migration.share_of(conn, work.resource_id)
            if row.instance_id == work.data.instance
        ]
    _close(work, rows_of)


def close_server(work: Work[Any]) -> None:
    """Admit nobody to the shares of the server, and their snapshots."""
    with work.ctx.db.reader() as conn:
        rows_of = share_server_migration.shares_of(conn, work.resource_id)
    _close(work, rows_of)


def _close(work: Work[Any], moving: list[Any]) -> None:
    driver = work.service.driver
    with work.ctx.db.reader() as conn:
        shares = as_shares(conn, moving)
        mountable = snapshot_access.list_mountable(conn, [row.id for row in moving])
        exported = as_snapshots(conn, list(snapshots.with_shares(conn, mountable).values()))
    for snapshot in exported:
        if hasattr(driver, 'serve_snapshot'):
            driver.serve_snapshot(snapshot, [])
    for share in shares.values():
        driver.update_access(share, [])


PLANS: list[Plan[Any]] = [
    Plan(share_migration.CLOSE, (Step(close_share, name='close'),), nothing, nothing, data=CloseShare),
    Plan(
        share_server_migration.CLOSE,
        (Step(close_server, name='close'),),
        nothing,
        nothing,
        data=OperationData,
    ),
]
