# SPDX-License-Identifier: Apache-2.0
"""The plans to attach and detach a share, and the steps that make attached shares ready for a guest.

Attaching: the access rule is created and becomes active. Detaching: the export is unmounted, then the rule is released.
Never the other way round: without the rule, a host hangs in a mount that is still there.
"""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from oslo_log import log

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import TRANSIENT, Connection
from manila_lite.siblings import nfs
from manila_lite.siblings import shares as share_service
from manila_lite.siblings.compute import notifications
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.host import server_of, share_of
from manila_lite.siblings.compute.states import ATTACHMENT
from manila_lite.siblings.grants import Target, retry_until
from manila_lite.siblings.work import Plan, Step, Work

LOG = log.getLogger(__name__)


def _row(work: Work) -> Any:
    with work.ctx.db.reader() as conn:
        return store.find_attachment(conn, work.resource_id)


# Attaching ------------------------------------------------------------------------------------


def _announce(work: Work) -> None:
    with work.ctx.db.writer() as conn:
        row = store.find_attachment(conn, work.resource_id)
        if row is not None and row.status == 'attaching':
            notifications.emit_attachment(conn, work, 'share_attach.start', row)


def _claim(work: Work) -> None:
    with _retry_until_timeout(work):
        claim(work, work.resource_id, ('attaching',))


def claim(work: Work, attachment_id: str, statuses: tuple[str, ...]) -> None:
    """Claim a grant for the attachment, if it exists in one of the statuses and has none."""
    host = work.service
    with work.writer() as conn:
        row = store.find_attachment(conn, attachment_id)
        if row is None or row.grant_id or row.status not in statuses:
            return
        grant = host.grants.claim(
            conn, Target(row.share_id, 'ip', host.address, 'rw'), host=host.name, on=store.holder(conn, row)
        )
        store.update_attachment(conn, attachment_id, grant_id=grant)


def _put_in_force(work: Work) -> None:
    row = _row(work)
    if row is not None and row.status == 'attaching' and row.grant_id:
        with _retry_until_timeout(work):
            work.service.grants.put_in_force(row.grant_id)


def _retry_until_timeout(work: Work) -> contextlib.AbstractContextManager[None]:
    return retry_until(work.op.created_at, work.service.conf.compute.attach_timeout)


def _attached(conn: Connection, work: Work) -> None:
    transitions.finish(conn, ATTACHMENT, 'attach', work.resource_id, fault=None)
    row = store.find_attachment(conn, work.resource_id)
    if row is not None and row.status == 'inactive':
        notifications.emit_attachment(conn, work, 'share_attach.end', row)


def _not_attached(conn: Connection, work: Work, error: Exception) -> None:
    transitions.fail(conn, ATTACHMENT, 'attach', work.resource_id, fault=message_for_owner(error))
    row = store.find_attachment(conn, work.resource_id)
    if row is not None and row.status == 'error':
        store.add_event(
            conn,
            store.find_server(conn, row.server_id),
            'share_failed',
            _naming(row.share_id, message_for_owner(error)),
            work.ctx,
        )
        notifications.emit_attachment(conn, work, 'share_attach.error', row, error)


def message_for_owner(error: Exception) -> str:
    """Return the part of an error that the owner may read."""
    if isinstance(error, nfs.MountFailed):
        return error.cause
    if isinstance(error, nfs.MountBusy):
        return 'The share is still in use on the host, so it cannot be unmounted.'
    return errors.user_text(error) or 'The action failed on the host; its log has the cause.'


# Detaching ------------------------------------------------------------------------------------


def _retried_forever(step: Callable[[Work], None]) -> Callable[[Work], None]:
    """Return a step that is tried again without end: an access rule is never dropped silently."""

    def do(work: Work) -> None:
        try:
            step(work)
        except (errors.LostClaim, *TRANSIENT):
            raise
        except Exception as bad:
            if not isinstance(bad, (errors.Again, errors.Unavailable)):
                LOG.exception('%s: cannot be undone yet', work.resource_id)
            with work.writer() as conn:
                note_fault(conn, work, f'Tried again until it works: {_reason(bad)}')
            after = work.service.conf.compute.retry_interval
            raise errors.Again(min(after, bad.after) if isinstance(bad, errors.Again) else after) from bad

    do.__name__ = step.__name__
    return do


def _reason(bad: Exception) -> str:
    """Return why a step waits: the words of the share service too, but none of the host."""
    ours = isinstance(bad, errors.ManilaLiteError) and not isinstance(
        bad, (nfs.MountFailed, nfs.MountBusy, nfs.TimedOut)
    )
    return str(bad) if ours else message_for_owner(bad)


def note_fault(conn: Connection, work: Work, text: str) -> None:
    """Show why the server is not deleted yet, or the share not detached."""
    if work.op.resource_type == 'server':
        store.update_server(conn, work.resource_id, fault=text)
    else:
        store.update_attachment(conn, work.resource_id, fault=text)


def _begin_detach(work: Work) -> None:
    with work.ctx.db.writer() as conn:
        row = store.find_attachment(conn, work.resource_id)
        if row is not None:
            notifications.emit_attachment(conn, work, 'share_detach.start', row)


@_retried_forever
def _unmount(work: Work) -> None:
    host, row = work.service, _row(work)
    if row is None:
        return
    with host.locked(row.server_id):
        with work.ctx.db.reader() as conn:
            server = store.find_server(conn, row.server_id)
        if server is not None and server.status == 'error':
            # A server in error may still run.
            host.driver.power_off(server_of(server), hard=True)
            with work.writer() as conn:
                set_shares_inactive(conn, server.id)
        host.unmount(share_of(row), row.server_id)


def set_shares_inactive(conn: Connection, server_id: str) -> None:
    """Mark the active shares of the server as inactive."""
    active = [one.id for one in store.attachments(conn, (server_id,)) if one.status == 'active']
    transitions.settle(conn, ATTACHMENT, active, 'active', 'inactive')


def _drop_grants(work: Work) -> None:
    with work.ctx.db.writer() as conn:
        row = store.find_attachment(conn, work.resource_id)
        if row is not None and row.grant_id:
            unlink_grants(conn, work, [row])


def unlink_grants(conn: Connection, work: Work, rows: list[Any]) -> None:
    """Remove the grants from the attachments; the operation keeps the grants' ids, to release them."""
    known = work.data.setdefault('grants', [])
    known += [row.grant_id for row in rows if row.grant_id and row.grant_id not in known]
    work.save(conn)
    for row in rows:
        store.update_attachment(conn, row.id, grant_id=None)


@_retried_forever
def release(work: Work) -> None:
    """Release the grants of the operation. An access rule that others need stays."""
    for grant in work.data.get('grants', ()):
        work.service.grants.release(grant)


def _detached(conn: Connection, work: Work) -> None:
    row = store.find_attachment(conn, work.resource_id)
    if row is not None:
        notifications.emit_attachment(conn, work, 'share_detach.end', row)
    transitions.finish(conn, ATTACHMENT, 'detach', work.resource_id)


def _not_detached(conn: Connection, work: Work, error: Exception) -> None:
    transitions.fail(conn, ATTACHMENT, 'detach', work.resource_id, fault=message_for_owner(error))
    row = store.find_attachment(conn, work.resource_id)
    if row is not None:
        notifications.emit_attachment(conn, work, 'share_detach.error', row, error)


# Steps of a server's plans --------------------------------------------------------------------


def prepare(work: Work) -> None:
    """Prepare each attached share for mounting: its current export location, and an active access rule."""
    for row in attached(work):
        with _recording_fault(work, row):
            if row.status == 'error':
                with work.writer() as conn:
                    transitions.begin(conn, ATTACHMENT, 'retry', row.id, fault=None)
            claim(work, row.id, ('inactive',))
            with _retry_until_timeout(work):
                _refresh(work, row)
                work.service.grants.put_in_force(_grant_id(work, row))


def _grant_id(work: Work, row: Any) -> str:
    with work.ctx.db.reader() as conn:
        known = store.find_attachment(conn, row.id)
    assert known is not None  # a grant was claimed for it
    return str(known.grant_id)


def _refresh(work: Work, row: Any) -> None:
    try:
        exports = work.service.services.shares.exports(None, row.share_id)
    except errors.NotFound:
        raise errors.Final(f'Share {row.share_id} is gone.') from None
    except errors.Forbidden:
        LOG.warning(
            '%s: the share service does not let this service see where share %s is; it is mounted from where it was',
            row.server_id,
            row.share_id,
        )
        return
    path = share_service.preferred(exports, row.export_location)
    if path is None:
        raise errors.Final(f'Share {row.share_id} has no export location any more.')
    if path == row.export_location:
        return
    work.service.unmount(
        share_of(row), row.server_id
    )  # the next write replaces the location that was mounted
    with work.writer() as conn:
        store.update_attachment(conn, row.id, export_location=path)
        store.add_event(
            conn,
            store.find_server(conn, row.server_id),
            'share_moved',
            f'share {row.share_id} is at {path} now',
            work.ctx,
        )


def attached(work: Work) -> list[Any]:
    """Return the attachments of the server that the operation is about."""
    with work.ctx.db.reader() as conn:
        return store.attachments(conn, (work.resource_id,))


def mount(work: Work) -> None:
    """Mount the exports of all attached shares."""
    for row in attached(work):
        with _recording_fault(work, row):
            work.service.mount(share_of(row))


def unmount(work: Work) -> None:
    """Unmount the exports that no other server needs."""
    rows = attached(work)
    if not rows:
        return
    # At once, so that several shares of one silent NFS server take no longer than one.
    with ThreadPoolExecutor(len(rows)) as pool:
        ended = [pool.submit(work.service.unmount, share_of(row), row.server_id) for row in rows]
    for one in ended:
        one.result()


@contextlib.contextmanager
def _recording_fault(work: Work, row: Any) -> Iterator[None]:
    """Record a permanent failure at the share that caused it."""
    try:
        yield
    except (errors.Again, errors.LostClaim, *TRANSIENT):
        raise
    except Exception as bad:
        if isinstance(bad, errors.Final) or work.tries >= work.service.conf.operations.max_attempts:
            with work.writer() as conn:
                transitions.fail(conn, ATTACHMENT, 'start', row.id, fault=message_for_owner(bad))
                store.add_event(
                    conn,
                    store.find_server(conn, row.server_id),
                    'share_failed',
                    _naming(row.share_id, message_for_owner(bad)),
                    work.ctx,
                )
            raise errors.Final(_naming(row.share_id, message_for_owner(bad))) from bad
        raise


def _naming(share_id: str, text: str) -> str:
    """Return the text, which names the share once."""
    return text if share_id in text else f'Share {share_id}: {text}'


PLANS = [
    Plan('attachment.attach', (Step(_announce), Step(_claim), Step(_put_in_force)), _attached, _not_attached),
    Plan(
        'attachment.detach',
        (Step(_begin_detach), Step(_unmount), Step(_drop_grants), Step(release)),
        _detached,
        _not_detached,
    ),
]
