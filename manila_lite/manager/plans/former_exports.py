# SPDX-License-Identifier: Apache-2.0
"""The end of the exports that a share leaves: nobody reads at the former path once the move counts as a success.

At the target's backend ``close`` is the last step of a migration. It has the source's backend end the exports, with an
operation of its own, and waits for that. Clients do not wait longer than ``[operations] lease`` for a source that is down:
they get the share at its new place, and the task state stays ``migration_completing``, which is not yet a success, until the
source is up and has deleted its copy. An administrator who knows that nobody can read there sets the task state by hand.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import context, errors
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import (
    access,
    messages,
    server_migration,
    services,
    share_migration,
    snapshot_access,
    snapshots,
)
from manila_lite.db.queries import operations as rows
from manila_lite.engine import FAST, Plan, Step, Wake, Work, backend_of, begin_once
from manila_lite.manager.plans.task import as_shares, as_snapshots
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.left_copies import Left
from manila_lite.operation_data.migrations import CloseShare, Migrate
from manila_lite.states import Migration

LOG = log.getLogger(__name__)
M = TypeVar('M', bound=Migrate)

#: Seconds between looks whether the source's backend has done its part. Nobody can use the share meanwhile.
_LOOK = 0.1
_STILL_OPEN = 'Clients could still read outdated data at the former export locations: the backend {host} did not close them.'


# At the target's backend ------------------------------------------------------------------------------


def forget(work: Work[Migrate]) -> None:
    """Forget the answer of the source's backend: a repeated cut-over tells it once more."""
    work.data.closing, work.data.closing_since, work.data.closed = None, None, False


def close(work: Work[M], begin: Callable[[Connection, Work[M]], Wake | None]) -> None:
    """Have the source's backend end the former exports, and keep whether it did. ``begin`` begins the operation, if any.

    :raises errors.Again: it goes on.
    """
    data = work.data
    if data.closing_since is None:
        with work.ctx.db.writer() as conn:
            work.hold(conn)
            wake = begin(conn, work) if _knows_how(conn, data.source_host) else None
        data.closing = wake.operation_id if wake else None
        data.closing_since = timeutils.utcnow_ts(microsecond=True)
        if wake:
            wake.send(work.ctx)
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
    waited = timeutils.utcnow_ts(microsecond=True) - since
    if op is not None and op.state == rows.OPEN and waited < work.ctx.conf.operations.lease:
        raise errors.Again(_LOOK)
    return op is not None and op.state == rows.DONE


def end(
    conn: Connection, work: Work[Migrate], kind: str, owners: Mapping[str, str], left: Left, moved: str
) -> Migration:
    """Return the task state at the end of a migration. If the exports have not ended, tell the owners of the shares, and have
    the operation that deletes the source, whose data is ``left``, set it to a success.

    ``kind``: that of the operation of ``close``. ``owners``: projects by shares. ``moved``: the share, or the target.
    """
    if work.data.closed:
        return Migration.SUCCESS
    rows.supersede(conn, work.resource_id, (kind,))  # the deletion of the source ends them, too
    text = _STILL_OPEN.format(host=work.data.source_host)
    LOG.warning('%s: %s', work.resource_id, text)
    messages.create_many(
        conn,
        work.ctx,
        'SHARE',
        owners,
        messages.Action.COMPLETE_MIGRATION,
        messages.Detail.FORMER_EXPORT_OPEN,
        text,
    )
    left.former_export_of = moved
    return Migration.COMPLETING


# At the source's backend ------------------------------------------------------------------------------


def source_is_gone(
    conn: Connection, work: Work[Left], swap: Callable[[Connection, str, Iterable[str], str], bool]
) -> None:
    """Let the migration count as a success, after the deletion of its source. ``swap`` sets task states."""
    if moved := work.data.former_export_of:
        swap(conn, moved, (Migration.COMPLETING,), Migration.SUCCESS)


def begin_share(
    conn: Connection, ctx: context.RequestContext, share_id: str, host: str, instance: str
) -> Wake:
    """Have the backend end the exports of this instance of the share, and of its snapshots there."""
    key = f'close:{share_id}'
    # It runs beside no change of the rules, which has the same serial.
    return begin_once(
        conn,
        ctx,
        share_migration.CLOSE,
        'share',
        share_id,
        topic='share',
        host=host,
        lane=FAST,
        serial=access.open_key(share_id),
        open_key=key,
        data=CloseShare(instance=instance),
    )


def begin_server(conn: Connection, ctx: context.RequestContext, server_id: str, host: str) -> Wake:
    """Have the backend end the exports of the server's shares, and of their snapshots there."""
    return begin_once(
        conn,
        ctx,
        server_migration.CLOSE,
        'share_server',
        server_id,
        topic='share',
        host=host,
        lane=FAST,
        serial=f'rules:{server_id}',
        open_key=f'close:{server_id}',
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
        rows_of = server_migration.shares_of(conn, work.resource_id)
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


def _nothing(conn: Connection, work: Work[Any], *_: Exception) -> None:
    """Store nothing: the migration sees the end of the operation."""


PLANS: list[Plan[Any]] = [
    Plan(share_migration.CLOSE, (Step(close_share, name='close'),), _nothing, _nothing, data=CloseShare),
    Plan(server_migration.CLOSE, (Step(close_server, name='close'),), _nothing, _nothing, data=OperationData),
]
