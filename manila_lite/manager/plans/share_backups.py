# SPDX-License-Identifier: Apache-2.0
"""Plans of backups: create a backup of a share, restore a backup to a share, delete a backup.

A copy runs in the driver, between looks at its progress; so it occupies no thread that other work needs.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from oslo_log import log

from manila_lite import conf, context, errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import access, share_backups, shares
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.backups.backup_jobs import BackupJobs
from manila_lite.drivers.backups.backup_jobs_driver import BackupJobsDriver
from manila_lite.drivers.backups.nfs_backups import NfsBackups
from manila_lite.drivers.interface import BacksUp, abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import poll_backoff
from manila_lite.manager.plans.task import as_share
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.share_backups import CopyBackup
from manila_lite.workflow import share_backups as backup_workflow
from manila_lite.workflow.verbs import notify

LOG = log.getLogger(__name__)

_BACKUP = states.SHARE_BACKUP
_ALL = 100
#: Seconds between looks whether the backend admits a copying client.
_LOOK = 0.2
#: Seconds between tries to withdraw such access; doubled up to the last.
_SHUT_OUT_EVERY, _SHUT_OUT_AT_LEAST = 30.0, 3600.0


def _row(conn: Connection, work: Work[Any], verb: str) -> Any:
    """Return the backup's row.

    :raises errors.Final: it is gone, or the work on it was stopped.
    """
    row = share_backups.find(conn, work.resource_id)
    if row is None or row.status != _BACKUP[verb].during:
        raise errors.Final(
            f'The work on backup {work.resource_id} was stopped: its status is '
            f'{row.status if row else "gone"}.'
        )
    return row


def _type(work: Work[Any], name: str) -> values.BackupType:
    """Return the backup type as it is configured here."""
    if name not in work.ctx.conf.enabled_backup_types:
        raise errors.Final(f'The type of backup {name} is no longer configured on this host.')
    section = _section(work, name)
    return values.BackupType(
        name,
        section.backup_mount_export,
        section.backup_mount_proto,
        section.backup_mount_options,
        section.backup_apparent_ratio,
    )


def _section(work: Work[Any], name: str) -> Any:
    conf.backup.register_type(work.ctx.conf, name)
    return work.ctx.conf[name]


def _backup(work: Work[Any], row: Any) -> values.Backup:
    return values.Backup(row.id, row.size, _type(work, row.backup_type), row.host, row.project_id)


def _load(work: Work[CopyBackup], verb: str) -> tuple[values.Share, values.Backup]:
    with work.ctx.db.reader() as conn:
        row = _row(conn, work, verb)
        try:
            share = as_share(conn, shares.get(conn, work.ctx.elevated(), work.data.share_id))
        except errors.NotFound as gone:
            raise errors.Final(str(gone)) from None
    return share, _backup(work, row)


def make_backup_driver(driver: Any, section: Any, state: Path) -> BacksUp:
    """Return the object that backs up the shares of a backend: its driver, or one that mounts them as a client does."""
    if values.Ability.BACK_UP in abilities_of(driver) and not section.backup_over_nfs:
        return cast(BacksUp, driver)
    return NfsBackups(state, section)


def _let_in(work: Work[CopyBackup], verb: str, share: values.Share, backup: values.Backup) -> None:
    """Make sure that this host can mount the share, if it copies as a client.

    :raises errors.Again: the backend has not done it yet.
    """
    mounting = work.service.backups
    if not isinstance(mounting, NfsBackups) or mounting.copies.is_copying(backup):
        return
    address = mounting.client_of(share)
    with work.ctx.db.writer() as conn:
        access.lock(conn, share.share_id)
        work.hold(conn)
        row = _row(conn, work, verb)
        # The address of another machine, when this one goes on with an operation of that one.
        if row.copy_client != address or work.data.let_in != address:
            backup_workflow.let_in(conn, work.ctx, row.id, share.share_id, work.op.host, address)
        telling = rows.is_open(conn, access.unique_key(share.share_id))
    work.data.let_in = address
    if telling:
        raise errors.Again(_LOOK)


def copies_of(service: Any) -> BackupJobs | None:
    """Return the copies that are made on this host, or None where the driver makes backups elsewhere."""
    return service.backups.copies if isinstance(service.backups, BackupJobsDriver) else None


def clean(service: Any) -> None:
    """Delete remains of copies on this host that no operation works on, and have left-over access of clients withdrawn."""
    ctx = context.admin(service.services)
    _shut_out(service, ctx)
    if copies := copies_of(service):
        for backup_id in sorted(copies.left()):
            with ctx.db.reader() as conn:
                if rows.is_open(conn, f'backup:{backup_id}'):
                    continue
            _clear_away(backup_id, copies.clear)
    driver = service.driver
    if isinstance(driver, BackupJobsDriver) and driver is not service.backups:
        # Backups are made in another way now (``backup_over_nfs``): the driver's kept copies are not continued.
        for backup_id in sorted(driver.copies.kept()):
            _clear_away(backup_id, driver.copies.release)


def _clear_away(backup_id: str, clear: Callable[[str], None]) -> None:
    LOG.warning('Backup %s: the rest of an abandoned copy is deleted', backup_id)
    try:
        clear(backup_id)
    except Exception:
        LOG.exception('Backup %s: something is left of a copy', backup_id)


def _shut_out(service: Any, ctx: context.RequestContext) -> None:
    """Have the backend withdraw left-over access once more, for each share at ever longer intervals."""
    with ctx.db.reader() as conn:
        lingering = {
            **share_backups.list_ended_with_access(conn, service.host),
            **access.list_still_admitting(conn, service.host),
        }
    now, tries = service.clock(), service.shut_out_tries
    for share_id in tries.keys() - lingering.keys():
        del tries[share_id]
    for share_id, copy_id in lingering.items():
        due, pause = tries.get(share_id, (now, _SHUT_OUT_EVERY))
        if now < due:
            continue
        tries[share_id] = now + pause, min(pause * 2, _SHUT_OUT_AT_LEAST)
        LOG.warning(
            'Backup or instance %s: share %s still admits the client that copied it', copy_id, share_id
        )
        with ctx.db.writer() as conn:
            backup_workflow.shut_out(conn, ctx, share_id, service.host)


def _start(work: Work[CopyBackup], verb: str, begin: Callable[[values.Share, values.Backup], None]) -> None:
    """Have the backend begin a copy."""
    share, backup = _load(work, verb)
    _let_in(work, verb, share, backup)
    begin(share, backup)


def _copy(
    work: Work[CopyBackup], verb: str, column: str, look: Callable[[values.Share, values.Backup], Any]
) -> None:
    """Wait until the copy is complete, and store its progress.

    :raises errors.Again: it is not complete yet.
    """
    share, backup = _load(work, verb)
    _let_in(work, verb, share, backup)
    percent = _percent(look(share, backup))
    work.data.progress = {'percent': percent}
    with work.ctx.db.writer() as conn:
        work.save(conn)
        share_backups.update(conn, work.resource_id, **{column: str(percent)})
    if percent < _ALL:
        raise poll_backoff.poll_again(work, _section(work, backup.type.name).backup_continue_update_interval)


def _percent(answer: object) -> int:
    if not isinstance(answer, values.BackupProgress):
        raise errors.ManilaLiteError(f'The backend reported an invalid progress of the copy: {answer!r}.')
    return max(0, min(answer.percent, _ALL))


# Steps ----------------------------------------------------------------------------------------------


def _forget(work: Work[Any]) -> None:
    """Delete the backup at the backend."""
    with work.ctx.db.reader() as conn:
        row = share_backups.find(conn, work.resource_id)
    if row is not None:
        work.service.backups.delete_backup(_backup(work, row))


def _ended(conn: Connection, work: Work[Any], verb: str, error: Exception | None = None) -> None:
    row = share_backups.find(conn, work.resource_id)
    if row is None:
        return
    backup_workflow.share_ended(conn, work.ctx, row, worked=error is None)
    (transitions.fail if error else transitions.finish)(conn, _BACKUP, verb, row.id)
    backup_workflow.announce(work.ctx, row, f'{verb}.{"error" if error else "end"}', work.op.host, error)


def _failed(
    conn: Connection,
    work: Work[Any],
    verb: str,
    error: Exception,
    resource: str,
    action: Action,
    resource_id: str | None = None,
) -> None:
    """End the verb of the backup as failed, and tell the owner of this resource why."""
    _ended(conn, work, verb, error)
    notify(conn, work, resource, action, Detail.UNKNOWN_ERROR, error, resource_id)


def _restored(conn: Connection, work: Work[CopyBackup]) -> None:
    shares.update(conn, work.data.share_id, source_backup_id=work.resource_id)
    _ended(conn, work, 'restore')
    work.service.report_soon()


def _deleted(conn: Connection, work: Work[Any]) -> None:
    """Delete the backup's row, unless an administrator gave it another status meanwhile."""
    row = share_backups.find(conn, work.resource_id)
    if row is not None:
        backup_workflow.withdraw(conn, work.ctx, row)
    transitions.finish(conn, _BACKUP, 'delete', work.resource_id)
    if row is not None:
        backup_workflow.announce(work.ctx, row, 'delete.end', work.op.host)


PLANS: list[Plan[Any]] = [
    Plan(
        share_backups.CREATE,
        (
            Step(lambda work: _start(work, 'create', work.service.backups.create_backup), _forget, 'start'),
            Step(
                lambda work: _copy(work, 'create', 'progress', work.service.backups.create_backup_continue),
                name='copy',
            ),
        ),
        lambda conn, work: _ended(conn, work, 'create'),
        lambda conn, work, error: _failed(
            conn, work, 'create', error, backup_workflow.RESOURCE, Action.CREATE
        ),
        data=CopyBackup,
    ),
    # The share of a failed restore may hold data of both; the backup is as good as before.
    Plan(
        share_backups.RESTORE,
        (
            Step(
                lambda work: _start(work, 'restore', work.service.backups.restore_backup),
                name='start_restore',
            ),
            Step(
                lambda work: _copy(
                    work, 'restore', 'restore_progress', work.service.backups.restore_backup_continue
                ),
                name='restore',
            ),
        ),
        _restored,
        lambda conn, work, error: _failed(
            conn, work, 'restore', error, 'SHARE', Action.RESTORE_BACKUP, work.data.share_id
        ),
        data=CopyBackup,
    ),
    Plan(
        share_backups.DELETE,
        (Step(_forget, name='delete'),),
        _deleted,
        lambda conn, work, error: _failed(
            conn, work, 'delete', error, backup_workflow.RESOURCE, Action.DELETE
        ),
        data=OperationData,
    ),
]
