# SPDX-License-Identifier: Apache-2.0
"""Helpers for migrations to another backend, of share servers and of single shares."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from manila_lite import engine, errors, extra_specs, states
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import retry
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import services, share_networks
from manila_lite.states import Migration
from manila_lite.workflow.migration_progress import figures

_HOST = re.compile(r'[^@#\s]+@[^@#\s]+(#[^#\s]+)?')
#: Options of a request to migrate.
OPTIONS = ('writable', 'nondisruptive', 'preserve_snapshots')
#: Task states in which nothing is under way.
IDLE = (Migration.SUCCESS, Migration.ERROR, Migration.CANCELLED)
#: Task states in which a migration can be cancelled.
CANCELLABLE = tuple(state for state in Migration if state.may_be_cancelled)
#: Seconds between polls for the backend's answer.
_LOOK = 0.1


# Where to -------------------------------------------------------------------------------------------

class MigrationTarget:
    """A resource that moves to the backend or pool ``to``."""

    to: str

    @property
    def host(self) -> str:
        """The backend of ``to``: ``host@backend``."""
        return engine.backend_of(self.to)


def backend(conn: Any, ctx: RequestContext, to: str) -> Any:
    """Return the service of the backend that ``to`` names, or whose pool it names.

    :raises errors.Invalid: no such backend is up and enabled.
    """
    if not _HOST.fullmatch(to):
        raise errors.Invalid(f'host: {to!r} is no backend; write host@backend or host@backend#pool.')
    try:
        row = services.get(conn, engine.backend_of(to), 'manila-share')
    except errors.NotFound:
        raise errors.Invalid(f'host: there is no backend {to}.', code='backend_not_found') from None
    if row.disabled or not services.is_up(row.heartbeat_at, row.stopped, ctx.conf.service_down_time):
        raise errors.Invalid(f'host: the backend {to} is {"disabled" if row.disabled else "down"}.', code='backend_down')
    return row


def network(conn: Any, ctx: RequestContext, project_id: str, network_id: str) -> None:
    """Refuse a share network that the project's resource cannot move into.

    :raises errors.Invalid: the project has no such share network.
    :raises errors.WrongState: the network is not active.
    """
    try:
        found = share_networks.get(conn, ctx, network_id)
    except errors.NotFound:
        raise errors.Invalid(f'new_share_network_id: there is no share network {network_id}.') from None
    if found.project_id != project_id:
        raise errors.Invalid(f'new_share_network_id: share network {network_id} is of another project.')
    if found.status != 'active':
        raise errors.WrongState(f'Share network {network_id} is {found.status}, not active.')


def must_be_offered(kind: str, specs: Mapping[str, str], service: Any) -> None:
    """Refuse a share type that is not offered in the zone of the service. ``specs``: the type's extra specs.

    :raises errors.Conflict: the type is not offered there.
    """
    if not extra_specs.is_offered(specs, service.zone):
        raise errors.Conflict(f'Share type {kind} is for zones {", ".join(extra_specs.zones(specs))}; {service.host} is in '
                              f'{service.zone}.')


# Asking ---------------------------------------------------------------------------------------------

def agreed(support: Mapping[str, Any]) -> dict[str, bool]:
    """Return the part of the backend's answer that the operation needs."""
    return {'freeze': not support.get('writable'), 'cancellable': bool(support.get('migration_cancel'))}


def must_be_cancellable(found: Any, task_state: str | None) -> None:
    """Refuse to cancel a migration if the backend does not support that.

    :raises errors.Invalid: the backend said that it cannot cancel.
    """
    if found is not None and task_state in CANCELLABLE and not found.data['cancellable']:
        raise errors.Invalid(f'{found.data["to"]} cannot call off a migration; it can only be completed.',
                             code='migration_not_cancellable')


def lacking(host: str, options: Mapping[str, bool], support: Mapping[str, Any]) -> str | None:
    """Return the reason why the backend cannot migrate with these ``options``, or None."""
    if not support.get('compatible'):
        return support.get('reason') or f'{host} cannot take it in.'
    wants = [name for name in options if options[name] and not support.get(name)]
    return f'{host} cannot do that {", ".join(wants)}.' if wants else None


def asked(ctx: RequestContext, begin: Callable[[Any], engine.Wake], host: str) -> dict[str, Any]:
    """Begin a check operation with ``begin`` and return the backend's answer. Not for use in a transaction.

    :raises errors.Conflict: there was no answer for ``[api] migration_check_timeout`` seconds.
    :raises errors.Busy: too many requests wait for backends; the backend was not asked.
    """
    with ctx.waiting('backends'):
        row = _heard(ctx, begin)
    if row.state == rows.OPEN:
        raise errors.Conflict(f'The backend {host} did not say in time whether it can take that in.', code='backend_silent')
    return dict(row.data['support'])


def _heard(ctx: RequestContext, begin: Callable[[Any], engine.Wake]) -> Any:
    """Return the row of the check operation when it has ended or the timeout is over. The row is deleted by then."""
    wake = _begin(ctx, begin)
    wake.send(ctx)
    end = time.monotonic() + ctx.conf.api.migration_check_timeout
    while (row := _answer(ctx, wake.operation_id)).state == rows.OPEN and time.monotonic() < end:
        time.sleep(_LOOK)
    _forget(ctx, wake.operation_id)
    return row


@retry
def _begin(ctx: RequestContext, begin: Callable[[Any], engine.Wake]) -> engine.Wake:
    with ctx.db.writer() as conn:
        return begin(conn)


@retry
def _answer(ctx: RequestContext, ident: str) -> Any:
    with ctx.db.reader() as conn:
        return rows.get(conn, ident)


@retry
def _forget(ctx: RequestContext, ident: str) -> None:
    with ctx.db.writer() as conn:
        rows.delete(conn, (ident,))


# Going on -------------------------------------------------------------------------------------------

def notify(ctx: RequestContext, found: Any) -> None:
    """Wake the worker that has the operation."""
    engine.Wake(found.topic, found.host, found.id, found.lane).send(ctx)


def task_state(value: str | None, also: Iterable[str] = ()) -> str | None:
    """Return the task state that ``value`` names.

    :raises errors.Invalid: the value is no task state, and not one of ``also``.
    """
    wanted = states.MIGRATION_ALIASES.get(value or '', value)
    if wanted is not None and wanted not in {*Migration, *also}:
        raise errors.Invalid(f'task_state: {value!r} is none; it is null or one of {", ".join(Migration)}.')
    return wanted


__all__ = [
    'CANCELLABLE',
    'IDLE',
    'OPTIONS',
    'MigrationTarget',
    'asked',
    'backend',
    'figures',
    'lacking',
    'must_be_offered',
    'network',
    'notify',
    'task_state',
]
