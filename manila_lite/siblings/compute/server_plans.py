# SPDX-License-Identifier: Apache-2.0
"""The plans for the verbs of a server. Starting: rules and paths, mounts, guest. Stopping: the same backwards."""

from collections.abc import Callable
from typing import Any

from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.compute import notifications, share_plans
from manila_lite.siblings.compute.db import store
from manila_lite.siblings.compute.host import server_of, share_of
from manila_lite.siblings.compute.share_plans import message_for_owner
from manila_lite.siblings.compute.states import ATTACHMENT, SERVER
from manila_lite.siblings.work import Plan, Step, Work

#: Characters of console output that are kept for the request.
_CONSOLE = 1 << 18


def _row(work: Work) -> Any:
    with work.ctx.db.reader() as conn:
        row = store.find_server(conn, work.resource_id)
    if row is None:
        raise errors.Final('The server is gone.')
    return row


def _verb(work: Work) -> str:
    return str(work.op.kind.partition('.')[2])


def _exclusive(step: Callable[[Work], None]) -> Callable[[Work], None]:
    """Return a step that holds the server's lock: no other thread of the process works on the server meanwhile."""

    def do(work: Work) -> None:
        with work.service.locked(work.resource_id):
            step(work)

    do.__name__ = step.__name__
    return do


def _shares(work: Work) -> tuple[Any, ...]:
    return tuple(share_of(row) for row in share_plans.attached(work))


@_exclusive
def _spawn(work: Work) -> None:
    work.service.driver.spawn(server_of(_row(work)))


@_exclusive
def _power_on(work: Work) -> None:
    work.service.driver.power_on(server_of(_row(work)), _shares(work))


@_exclusive
def _power_off(work: Work) -> None:
    work.service.driver.power_off(server_of(_row(work)))


@_exclusive
def _power_off_hard(work: Work) -> None:
    work.service.driver.power_off(server_of(_row(work)), hard=True)


@_exclusive
def _cut_power(work: Work) -> None:
    work.service.driver.power_off(server_of(_row(work)), hard=True)
    with work.writer() as conn:
        share_plans.set_shares_inactive(conn, work.resource_id)


@_exclusive
def _reboot(work: Work) -> None:
    work.service.driver.reboot(server_of(_row(work)), _shares(work))


@_exclusive
def _suspend(work: Work) -> None:
    work.service.driver.suspend(server_of(_row(work)))


@_exclusive
def _resume(work: Work) -> None:
    work.service.driver.resume(server_of(_row(work)))


@_exclusive
def _power_off_if_running(work: Work) -> None:
    if _verb(work).endswith('_on'):
        work.service.driver.power_off(server_of(_row(work)))


@_exclusive
def _power_on_if_it_ran(work: Work) -> None:
    if _verb(work).endswith('_on'):
        work.service.driver.power_on(server_of(_row(work)), ())


@_exclusive
def _rebuild(work: Work) -> None:
    work.service.driver.rebuild(server_of(_row(work)))


@_exclusive
def _resize(work: Work) -> None:
    work.service.driver.resize(server_of(_row(work)))


@_exclusive
def _image(work: Work) -> None:
    work.service.driver.create_image(server_of(_row(work)), work.data['name'])


def _console(work: Work) -> None:
    length = work.data.get('length')
    text = work.service.driver.console(
        server_of(_row(work)), None if length is None or length < 0 else length
    )
    work.data['output'] = text[-_CONSOLE:]
    with work.ctx.db.writer() as conn:
        work.save(conn)


@_exclusive
def _destroy(work: Work) -> None:
    work.service.driver.destroy(server_of(_row(work)))


def _drop_grants(work: Work) -> None:
    with work.ctx.db.writer() as conn:
        rows = store.attachments(conn, (work.resource_id,))
        for row in rows:
            notifications.emit_attachment(conn, work, 'share_detach.start', row)
        share_plans.unlink_grants(conn, work, rows)


# Ends of operations ---------------------------------------------------------------------------


def _done(conn: Connection, work: Work) -> None:
    transitions.finish(conn, SERVER, _verb(work), work.resource_id, fault=None)


def _started(conn: Connection, work: Work) -> None:
    transitions.finish(
        conn, SERVER, _verb(work), work.resource_id, fault=None, launched_at=timeutils.utcnow()
    )
    ready = [row.id for row in store.attachments(conn, (work.resource_id,)) if row.status == 'inactive']
    transitions.settle(conn, ATTACHMENT, ready, 'inactive', 'active')


def _stopped(conn: Connection, work: Work) -> None:
    _done(conn, work)
    share_plans.set_shares_inactive(conn, work.resource_id)


def _deleted(conn: Connection, work: Work) -> None:
    rows = store.attachments(conn, (work.resource_id,))
    for row in rows:
        notifications.emit_attachment(conn, work, 'share_detach.end', row)
    transitions.remove(conn, ATTACHMENT, [row.id for row in rows], 'detaching')
    store.free_addresses(conn, work.resource_id)
    store.delete_unfinished_images(conn, work.resource_id)
    transitions.finish(conn, SERVER, 'delete', work.resource_id)


def _failed(conn: Connection, work: Work, error: Exception) -> None:
    transitions.fail(conn, SERVER, _verb(work), work.resource_id, fault=message_for_owner(error))
    row = store.find_server(conn, work.resource_id)
    if row is not None:
        store.add_event(conn, row, f'{_verb(work)}_failed', message_for_owner(error), work.ctx)


def _not_resized(conn: Connection, work: Work, error: Exception) -> None:
    store.update_server(conn, work.resource_id, spec=work.data['before'])
    _failed(conn, work, error)


def _imaged(conn: Connection, work: Work) -> None:
    store.set_image_ready(conn, work.data['image'])
    _done(conn, work)


def _not_imaged(conn: Connection, work: Work, error: Exception) -> None:
    store.delete_image(conn, work.data['image'])
    _failed(conn, work, error)


def _change_nothing(conn: Connection, work: Work, error: Exception | None = None) -> None:
    """Change nothing: the answer is in the operation's row."""


def _plan(
    verb: str,
    *steps: Step,
    done: Callable[[Connection, Work], None] = _done,
    failed: Callable[[Connection, Work, Exception], None] = _failed,
) -> Plan:
    return Plan(f'server.{verb}', steps, done, failed)


def _while_off(verb: str, step: Callable[[Work], None], **ends: Any) -> list[Plan]:
    """Return the plans of a verb for a stopped server and for a running one, which is off meanwhile."""
    steps = (Step(_power_off_if_running), Step(step), Step(_power_on_if_it_ran))
    return [_plan(verb, *steps, **ends), _plan(f'{verb}_on', *steps, **ends)]


_START = (
    Step(share_plans.prepare),
    Step(share_plans.mount, share_plans.unmount),
    Step(_power_on, _power_off_hard),
)

PLANS = [
    _plan('create', Step(_spawn), Step(_power_on, _power_off_hard), done=_started),
    _plan('start', *_START, done=_started),
    _plan('stop', Step(_power_off), Step(share_plans.unmount), done=_stopped),
    _plan('reboot', Step(_reboot)),
    _plan('hard_reboot', Step(_cut_power), *_START, done=_started),
    _plan('suspend', Step(_suspend)),
    _plan('resume', Step(_resume)),
    *_while_off('rebuild', _rebuild),
    *_while_off('resize', _resize, failed=_not_resized),
    *_while_off('image', _image, done=_imaged, failed=_not_imaged),
    _plan('console', Step(_console), done=_change_nothing, failed=_change_nothing),
    _plan(
        'delete',
        Step(_destroy),
        Step(share_plans.unmount),
        Step(_drop_grants),
        Step(share_plans.release),
        done=_deleted,
    ),
]
