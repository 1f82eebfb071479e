# SPDX-License-Identifier: Apache-2.0
"""What it takes to move anything to another backend: a share server, or a share by itself."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from manila_lite import errors, extra_specs, operations, states
from manila_lite.context import RequestContext
from manila_lite.db import operations as rows
from manila_lite.db import services, share_networks
from manila_lite.db.engine import retry
from manila_lite.operations.progress import figures
from manila_lite.states import Migration

_HOST = re.compile(r'[^@#\s]+@[^@#\s]+(#[^#\s]+)?')
#: What is asked of a migration.
OPTIONS = ('writable', 'nondisruptive', 'preserve_snapshots')
#: Task states in which nothing is under way.
IDLE = (Migration.SUCCESS, Migration.ERROR, Migration.CANCELLED)
#: Task states from which a migration can be called off.
CANCELLABLE = tuple(state for state in Migration if state.may_be_cancelled)
#: Seconds between looks for the answer of the backend.
_LOOK = 0.1


# Where to -------------------------------------------------------------------------------------------

class Going:
    """Something that goes ``to`` a backend, or a pool of one."""

    to: str

    @property
    def host(self) -> str:
        """``host@backend``."""
        return operations.backend_of(self.to)


def backend(conn: Any, ctx: RequestContext, to: str) -> Any:
    """Return the service of the backend that ``to`` is, or is a pool of.

    :raises errors.Invalid: there is none that runs and is enabled.
    """
    if not _HOST.fullmatch(to):
        raise errors.Invalid(f'host: {to!r} is no backend; write host@backend or host@backend#pool.')
    try:
        row = services.get(conn, operations.backend_of(to), 'manila-share')
    except errors.NotFound:
        raise errors.Invalid(f'host: there is no backend {to}.', code='backend_not_found') from None
    if row.disabled or not services.is_up(row.heartbeat_at, row.stopped, ctx.conf.service_down_time):
        raise errors.Invalid(f'host: the backend {to} is {"disabled" if row.disabled else "down"}.', code='backend_down')
    return row


def network(conn: Any, ctx: RequestContext, project_id: str, network_id: str) -> None:
    """There is such a share network of the project, to move into.

    :raises errors.Invalid: there is not.
    :raises errors.WrongState: it is not active.
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
    """The share type ``kind``, with these extra specs, is for the zone of the service.

    :raises errors.Conflict: it is not.
    """
    if not extra_specs.is_offered(specs, service.zone):
        raise errors.Conflict(f'Share type {kind} is for zones {", ".join(extra_specs.zones(specs))}; {service.host} is in '
                              f'{service.zone}.')


# Asking ---------------------------------------------------------------------------------------------

def agreed(support: Mapping[str, Any]) -> dict[str, bool]:
    """Return what the operation has to know of what the backend supports."""
    return {'freeze': not support.get('writable'), 'cancellable': bool(support.get('migration_cancel'))}


def must_be_cancellable(found: Any, task_state: str | None) -> None:
    """The backend can call off the migration, if one is going on.

    :raises errors.Invalid: it said that it cannot.
    """
    if found is not None and task_state in CANCELLABLE and not found.data['cancellable']:
        raise errors.Invalid(f'{found.data["to"]} cannot call off a migration; it can only be completed.',
                             code='migration_not_cancellable')


def lacking(host: str, options: Mapping[str, bool], support: Mapping[str, Any]) -> str | None:
    """Return what of the ``options`` the backend cannot do, or why it cannot do anything; or nothing."""
    if not support.get('compatible'):
        return support.get('reason') or f'{host} cannot take it in.'
    wants = [name for name in options if options[name] and not support.get(name)]
    return f'{host} cannot do that {", ".join(wants)}.' if wants else None


def asked(ctx: RequestContext, begin: Callable[[Any], operations.Wake], host: str) -> dict[str, Any]:
    """Return what scheduler and backend say to the operation that ``begin`` begins. Not for use in a transaction.

    :raises errors.Conflict: nothing, for ``[api] migration_check_timeout`` seconds.
    :raises errors.Busy: too many requests wait for backends; nobody was asked.
    """
    with ctx.waiting('backends'):
        row = _heard(ctx, begin)
    if row.state == rows.OPEN:
        raise errors.Conflict(f'The backend {host} did not say in time whether it can take that in.', code='backend_silent')
    return dict(row.data['support'])


def _heard(ctx: RequestContext, begin: Callable[[Any], operations.Wake]) -> Any:
    """Return the operation (its row is gone) as soon as it has ended, or time is over."""
    wake = _begin(ctx, begin)
    wake.send(ctx)
    end = time.monotonic() + ctx.conf.api.migration_check_timeout
    while (row := _answer(ctx, wake.operation_id)).state == rows.OPEN and time.monotonic() < end:
        time.sleep(_LOOK)
    _forget(ctx, wake.operation_id)
    return row


@retry
def _begin(ctx: RequestContext, begin: Callable[[Any], operations.Wake]) -> operations.Wake:
    with ctx.db.writer() as conn:
        return begin(conn)


@retry
def _answer(ctx: RequestContext, ident: str) -> Any:
    with ctx.db.reader() as conn:
        return rows.get(conn, ident)


@retry
def _forget(ctx: RequestContext, ident: str) -> None:
    with ctx.db.writer() as conn:
        rows.remove(conn, (ident,))


# Going on -------------------------------------------------------------------------------------------

def tell(ctx: RequestContext, found: Any) -> None:
    """Whoever has the operation looks at it now."""
    operations.Wake(found.topic, found.host, found.id, found.lane).send(ctx)


def task_state(value: str | None, also: Iterable[str] = ()) -> str | None:
    """Return the task state that ``value`` means.

    :raises errors.Invalid: it means none, and is not one of ``also``.
    """
    wanted = states.MIGRATION_ALIASES.get(value or '', value)
    if wanted is not None and wanted not in {*Migration, *also}:
        raise errors.Invalid(f'task_state: {value!r} is none; it is null or one of {", ".join(Migration)}.')
    return wanted


__all__ = ['CANCELLABLE', 'IDLE', 'OPTIONS', 'Going', 'asked', 'backend', 'figures', 'lacking', 'must_be_offered', 'network',
           'task_state', 'tell']
