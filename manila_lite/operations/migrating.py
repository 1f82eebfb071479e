# SPDX-License-Identifier: Apache-2.0
"""How the migration of a share server ends before its cut-over: by failure or by request, wherever it was by then."""

from typing import Any

from manila_lite import errors, states
from manila_lite.db import messages, server_migrations, services, transitions
from manila_lite.db.engine import Connection
from manila_lite.operations.plans import Work
from manila_lite.states import Migration


class Cancelled(errors.Final):
    """The migration was called off."""


def settle(conn: Connection, source_id: str, during: str, to: str) -> None:
    """All shares of the server, and their snapshots, that are in the status ``during`` are in ``to``."""
    idents = [row.instance_id for row in server_migrations.shares_of(conn, source_id)]
    transitions.settle(conn, states.SHARE, idents, during, to)
    taken = [row.id for row in server_migrations.snapshots_of(conn, source_id)]
    transitions.settle(conn, states.SNAPSHOT, taken, during, to)


def given_up(conn: Connection, work: Work, error: Exception) -> None:
    """The source and all that is on it are as before. What was made for it is gone, or in error if it could not be."""
    source, target = work.resource_id, work.data['target']
    verb = states.SHARE_SERVER['migrate']
    settle(conn, source, verb.during, states.SHARE['server_migrate'].fail)
    transitions.settle(conn, states.SHARE_SERVER, (source,), verb.during, verb.fail)
    transitions.server_task(conn, source, list(Migration), Migration.CANCELLED if called_off(error) else Migration.ERROR)
    if work.data.get('left'):
        transitions.fail(conn, states.SHARE_SERVER, 'receive', target, task_state=Migration.ERROR)
    else:
        transitions.remove(conn, states.SHARE_SERVER, (target,), states.SHARE_SERVER['receive'].during)
    if work.data.get('claimed'):
        services.give_back(conn, *work.data['claimed'])
    if not called_off(error):
        tell(conn, work, error)


def called_off(error: BaseException) -> bool:
    """Say whether the end was asked for. Also when another process began it: then only the words are left."""
    return isinstance(error, Cancelled) or str(error) == Cancelled.__doc__


def tell(conn: Connection, work: Work, error: Exception) -> None:
    """Whoever asked for the migration can read why it failed; and owners why what is theirs is in error, if it is."""
    named: Any = getattr(error, 'detail', None)
    detail = messages.Detail.named(named) if named else messages.Detail.UNKNOWN_ERROR
    action, why = messages.Action.MIGRATE_SERVER, errors.told(error)
    messages.create(conn, work.ctx, 'SHARE_SERVER', work.resource_id, action, detail, why)
    for noun, rows in (('SHARE', server_migrations.shares_of(conn, work.resource_id)),
                       ('SHARE_SNAPSHOT', server_migrations.snapshots_of(conn, work.resource_id))):
        owners = {row.id: row.project_id for row in rows if row.status == 'error'}
        messages.create_many(conn, work.ctx, noun, owners, action, detail, why)
