# SPDX-License-Identifier: Apache-2.0
"""Plans of backups: what a share holds is copied to a backup, what a backup holds to a share, and a backup goes.

A copy goes on in the driver, between looks at how far it is; so it takes none of the hands that other work needs.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from oslo_log import log

from manila_lite import conf, context, errors, kinds, states
from manila_lite.db import access, share_backups, shares, transitions
from manila_lite.db import operations as rows
from manila_lite.db.engine import Connection
from manila_lite.db.messages import Action
from manila_lite.drivers.interface import BacksUp, abilities_of
from manila_lite.drivers.linux.copies import BacksUpByCopies, Copies
from manila_lite.drivers.linux.nfs_backups import NfsBackups
from manila_lite.manager.task import as_share
from manila_lite.operations import Plan, Step, Work, backing_up

LOG = log.getLogger(__name__)

_BACKUP = states.SHARE_BACKUP
_ALL = 100
#: Seconds until it is seen again whether the backend was told to let a copier in.
_TOLD_SOON = 0.2
#: Seconds from one try to shut a copier out to the next; doubled up to the last.
_SHUT_OUT_EVERY, _SHUT_OUT_AT_LEAST = 30.0, 3600.0


def _row(conn: Connection, work: Work, verb: str) -> Any:
    """Return the backup's row.

    :raises errors.Final: it is gone, or the work on it was stopped.
    """
    row = share_backups.by_id(conn, work.resource_id)
    if row is None or row.status != _BACKUP[verb].during:
        raise errors.Final(f'The work on backup {work.resource_id} was stopped: its status is '
                           f'{row.status if row else "gone"}.')
    return row


def _type(work: Work, name: str) -> kinds.BackupType:
    """Return the type of backup as it is configured here."""
    if name not in work.ctx.conf.enabled_backup_types:
        raise errors.Final(f'There is no type of backup {name} here any more.')
    section = _section(work, name)
    return kinds.BackupType(name, section.backup_mount_export, section.backup_mount_proto, section.backup_mount_options,
                            section.backup_apparent_ratio)


def _section(work: Work, name: str) -> Any:
    conf.backup.register_type(work.ctx.conf, name)
    return work.ctx.conf[name]


def _backup(work: Work, row: Any) -> kinds.Backup:
    return kinds.Backup(row.id, row.size, _type(work, row.backup_type), row.host, row.project_id)


def _load(work: Work, verb: str) -> tuple[kinds.Share, kinds.Backup]:
    with work.ctx.db.reader() as conn:
        row = _row(conn, work, verb)
        try:
            share = as_share(conn, shares.get(conn, work.ctx.elevated(), work.data['share_id']))
        except errors.NotFound as gone:
            raise errors.Final(str(gone)) from None
    return share, _backup(work, row)


def copier(driver: Any, section: Any, state: Path) -> BacksUp:
    """Return who backs up the shares of a backend: its driver, or whoever mounts them as a client does."""
    if kinds.Ability.BACK_UP in abilities_of(driver) and not section.backup_over_nfs:
        return cast(BacksUp, driver)
    return NfsBackups(state, section)


def _let_in(work: Work, verb: str, share: kinds.Share, backup: kinds.Backup) -> None:
    """Whoever copies as a client can mount the share.

    :raises errors.Again: the backend is still to be told.
    """
    mounting = work.service.backups
    if not isinstance(mounting, NfsBackups) or mounting.copies.is_copying(backup):
        return
    address = mounting.client_of(share)
    with work.ctx.db.writer() as conn:
        access.lock(conn, share.share_id)
        work.hold(conn)
        row = _row(conn, work, verb)
        # Of another machine's, when this one goes on with what that one began.
        if row.copier != address or work.data.get('let_in') != address:
            backing_up.let_in(conn, work.ctx, row.id, share.share_id, work.op.host, address)
        telling = rows.is_open(conn, access.open_key(share.share_id))
    work.data['let_in'] = address
    if telling:
        raise errors.Again(_TOLD_SOON)


def copies_of(service: Any) -> Copies | None:
    """Return the copies that are made on this host, or nothing where the driver makes backups elsewhere."""
    return service.backups.copies if isinstance(service.backups, BacksUpByCopies) else None


def clean(service: Any) -> None:
    """Nothing is left on this host of copies that nobody works on any more, and the backend is told who is not to be let in."""
    ctx = context.admin(service.services)
    _shut_out(service, ctx)
    if copies := copies_of(service):
        for ident in sorted(copies.left()):
            with ctx.db.reader() as conn:
                if rows.is_open(conn, f'backup:{ident}'):
                    continue
            _clear_away(ident, copies.clear)
    driver = service.driver
    if isinstance(driver, BacksUpByCopies) and driver is not service.backups:
        # Its way was left for another (``backup_over_nfs``): nobody goes on with what it kept.
        for ident in sorted(driver.copies.kept()):
            _clear_away(ident, driver.copies.let_go)


def _clear_away(ident: str, clear: Callable[[str], None]) -> None:
    LOG.warning('Backup %s: what was left of a copy that was given up goes', ident)
    try:
        clear(ident)
    except Exception:
        LOG.exception('Backup %s: something is left of a copy', ident)


def _shut_out(service: Any, ctx: context.RequestContext) -> None:
    """The backend is told once more whom not to let in, of each share less and less often."""
    with ctx.db.reader() as conn:
        lingering = share_backups.lingering(conn, service.host)
    now, tries = time.monotonic(), service.shut_out_tries
    for share_id in tries.keys() - lingering.keys():
        del tries[share_id]
    for share_id, backup_id in lingering.items():
        due, pause = tries.get(share_id, (now, _SHUT_OUT_EVERY))
        if now < due:
            continue
        tries[share_id] = now + pause, min(pause * 2, _SHUT_OUT_AT_LEAST)
        LOG.warning('Backup %s: share %s still lets in who copied it', backup_id, share_id)
        with ctx.db.writer() as conn:
            backing_up.shut_out(conn, ctx, share_id, service.host)


def _look(work: Work, verb: str, column: str, look: Callable[[kinds.Share, kinds.Backup], Any]) -> None:
    """The copy is complete.

    :raises errors.Again: not yet; how far it is can be seen.
    """
    share, backup = _load(work, verb)
    _let_in(work, verb, share, backup)
    percent = _percent(look(share, backup))
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        share_backups.update(conn, work.resource_id, **{column: str(percent)})
    if percent < _ALL:
        raise errors.Again(_section(work, backup.type.name).backup_continue_update_interval)


def _percent(answer: object) -> int:
    if not isinstance(answer, kinds.BackupProgress):
        raise errors.ManilaLiteError(f'The backend was asked how far the copy is, and said {answer!r}.')
    return max(0, min(answer.percent, _ALL))


# Making one -----------------------------------------------------------------------------------------

def start(work: Work) -> None:
    """The backend copies the share."""
    share, backup = _load(work, 'create')
    _let_in(work, 'create', share, backup)
    work.service.backups.create_backup(share, backup)


def forget(work: Work) -> None:
    """Nothing of the backup is left."""
    with work.ctx.db.reader() as conn:
        row = share_backups.by_id(conn, work.resource_id)
    if row is not None:
        work.service.backups.delete_backup(_backup(work, row))


def copy(work: Work) -> None:
    """The backup holds what the share held."""
    _look(work, 'create', 'progress', work.service.backups.create_backup_continue)


def created(conn: Connection, work: Work) -> None:
    """The backup is available, and so is its share."""
    _ended(conn, work, 'create')


def not_created(conn: Connection, work: Work, error: Exception) -> None:
    """The backup is in error; the share is as it was."""
    _ended(conn, work, 'create', error)
    backing_up.tell(conn, work, Action.CREATE, error)


def _ended(conn: Connection, work: Work, verb: str, error: Exception | None = None) -> None:
    row = share_backups.by_id(conn, work.resource_id)
    if row is None:
        return
    backing_up.share_ended(conn, work.ctx, row, worked=error is None)
    (transitions.fail if error else transitions.finish)(conn, _BACKUP, verb, row.id)
    backing_up.announce(work.ctx, row, f'{verb}.{"error" if error else "end"}', work.op.host, error)


# The way back ---------------------------------------------------------------------------------------

def start_back(work: Work) -> None:
    """The backend copies the backup to the share."""
    share, backup = _load(work, 'restore')
    _let_in(work, 'restore', share, backup)
    work.service.backups.restore_backup(share, backup)


def copy_back(work: Work) -> None:
    """The share holds what the backup holds."""
    _look(work, 'restore', 'restore_progress', work.service.backups.restore_backup_continue)


def restored(conn: Connection, work: Work) -> None:
    """The share is available, and says what it holds."""
    shares.update(conn, work.data['share_id'], source_backup_id=work.resource_id)
    _ended(conn, work, 'restore')
    work.service.report_soon()


def not_restored(conn: Connection, work: Work, error: Exception) -> None:
    """The share may hold something of both, and says so; the backup is as good as before."""
    _ended(conn, work, 'restore', error)
    backing_up.tell(conn, work, Action.RESTORE_BACKUP, error, 'SHARE', work.data['share_id'])


# Going ----------------------------------------------------------------------------------------------

def deleted(conn: Connection, work: Work) -> None:
    """Nothing of the backup is left, unless an administrator gave it another status meanwhile."""
    row = share_backups.by_id(conn, work.resource_id)
    if row is not None:
        backing_up.withdraw(conn, work.ctx, row)
    transitions.finish(conn, _BACKUP, 'delete', work.resource_id)
    if row is not None:
        backing_up.announce(work.ctx, row, 'delete.end', work.op.host)


def not_deleted(conn: Connection, work: Work, error: Exception) -> None:
    """The backup can be deleted again; its owner is told why."""
    _ended(conn, work, 'delete', error)
    backing_up.tell(conn, work, Action.DELETE, error)


PLANS = [
    Plan(share_backups.CREATE, (Step(start, forget), Step(copy)), created, not_created),
    Plan(share_backups.RESTORE, (Step(start_back), Step(copy_back)), restored, not_restored),
    Plan(share_backups.DELETE, (Step(forget),), deleted, not_deleted),
]
