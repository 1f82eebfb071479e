# SPDX-License-Identifier: Apache-2.0
"""Ends of share server migrations before their cut-over, by failure or by request, at any step; and notifications."""

import time
from collections.abc import Mapping
from typing import Any

from manila_lite import context, errors, states
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import messages, server_migration, services
from manila_lite.engine.begin import Wake, begin_once
from manila_lite.engine.plans import FAST, Work
from manila_lite.rpc import notices
from manila_lite.states import Migration

#: Notification names of an operator's requests: the first phase, the second phase, and cancelling.
COPY, COMPLETE, CANCEL = 'share_server.migrate', 'share_server.migration_complete', 'share_server.migration_cancel'
_ABOUT = ('from', 'to', 'share_network_id', 'new_share_network_id', 'shares', 'snapshots', 'size')


class Cancelled(errors.Final):
    """The migration was called off."""

    code = 'migration_cancelled'


def finish_cutover(conn: Connection, source_id: str, during: str, to: str) -> None:
    """Move all shares of the server, and their snapshots, from the status ``during`` to the status ``to``."""
    idents = [row.instance_id for row in server_migration.shares_of(conn, source_id)]
    transitions.settle(conn, states.SHARE, idents, during, to)
    taken = [row.id for row in server_migration.snapshots_of(conn, source_id)]
    transitions.settle(conn, states.SNAPSHOT, taken, during, to)


def given_up(conn: Connection, work: Work, error: Exception) -> None:
    """Restore the source server and its shares, and remove the target. A target that was idle before is idle again; a
    target that could not be cleaned up is in error.
    """
    source, target = work.resource_id, work.data['target']
    verb = states.SHARE_SERVER['migrate']
    finish_cutover(conn, source, verb.during, states.SHARE['server_migrate'].fail)
    transitions.settle(conn, states.SHARE_SERVER, (source,), verb.during, verb.fail)
    transitions.server_task(conn, source, list(Migration), Migration.CANCELLED if cancelled(error) else Migration.ERROR)
    if work.data.get('left'):
        transitions.fail(conn, states.SHARE_SERVER, 'receive', target, task_state=Migration.ERROR)
    elif work.data.get('was_idle'):
        transitions.finish(conn, states.SHARE_SERVER, 'take_in', target, source_share_server_id=None, is_auto_deletable=True)
    else:
        transitions.remove(conn, states.SHARE_SERVER, (target,), states.SHARE_SERVER['receive'].during)
    if work.data.get('claimed'):
        services.release_space(conn, *work.data['claimed'])
    _say_given_up(conn, work, error)


def _say_given_up(conn: Connection, work: Work, error: Exception) -> None:
    if not cancelled(error):
        notify(conn, work, error, messages.Action.MIGRATE_SERVER)
        message_of(work, COPY, 'error', error)
    elif work.data.get('left'):
        left = errors.Final('What was copied could not be removed from the backend; delete the target of the migration.')
        notify(conn, work, left, messages.Action.CANCEL_MIGRATION)
        message_of(work, CANCEL, 'error', left)
    else:
        message_of(work, CANCEL, 'end')


def fail_cutover(conn: Connection, work: Work, error: Exception) -> None:
    """Set everything that moves to error, and keep it for another try."""
    finish_cutover(conn, work.resource_id, states.SHARE['server_cut_over'].during, states.SHARE['server_cut_over'].fail)
    transitions.fail(conn, states.SHARE_SERVER, 'cut_over', work.resource_id, task_state=Migration.ERROR)
    transitions.fail(conn, states.SHARE_SERVER, 'cut_over_to', work.data['target'], task_state=Migration.ERROR)
    notify(conn, work, error, messages.Action.COMPLETE_MIGRATION)
    message_of(work, COMPLETE, 'error', error)


def apply_rules(conn: Connection, ctx: context.RequestContext, source: str, host: str) -> Wake:
    """Have the backend that the server leaves told of the access rules of all its shares, as they are now."""
    key = f'rules:{source}'
    return begin_once(conn, ctx, server_migration.RULES, 'share_server', source, topic='share', host=host, lane=FAST,
                      serial=key, open_key=key)


def cancelled(error: BaseException) -> bool:
    """Say whether the migration was cancelled. If another process began the end, only the error's code is left."""
    return isinstance(error, errors.ManilaLiteError) and error.code == Cancelled.code


def message_of(work: Work, what: str, end: str, error: Exception | None = None) -> None:
    """Emit the notification that ``what`` (COPY, COMPLETE, CANCEL) has come to its ``end``: end or error."""
    announce(work.ctx, work.resource_id, work.data, f'{what}.{end}', work.op.host, error)


def announce(ctx: context.RequestContext, source: str, data: Mapping[str, Any], event: str, host: str | None = None,
             error: Exception | None = None) -> None:
    """Emit a notification about a migration; ``data`` is its operation's. See ``rpc.notices`` for ``host``."""
    known = data.get('progress') or {}
    payload = {'share_server_id': source, 'destination_share_server_id': data['target'], 'phase': 2 if data.get('cut') else 1,
               **{name: data.get(name) for name in _ABOUT},
               **{name: known.get(name) for name in ('percent', 'bytes_done', 'bytes_total')}}
    if 'phase_one_began' in data:
        payload['seconds'] = round(time.time() - data['phase_one_began'], 3)
    if error is not None:
        payload['error'] = errors.told(error) or 'Something went wrong; the log says what.'
    notices.emit(ctx, event, payload, host)


def notify(conn: Connection, work: Work, error: Exception, action: messages.Action) -> None:
    """Tell the user who asked for the migration why it failed, and owners why their resources are in error, if they are."""
    detail, why = messages.Detail.of(error), errors.told(error)
    messages.create(conn, work.ctx, 'SHARE_SERVER', work.resource_id, action, detail, why)
    for noun, rows in (('SHARE', server_migration.shares_of(conn, work.resource_id)),
                       ('SHARE_SNAPSHOT', server_migration.snapshots_of(conn, work.resource_id))):
        owners = {row.id: row.project_id for row in rows if row.status == 'error'}
        messages.create_many(conn, work.ctx, noun, owners, action, detail, why)
