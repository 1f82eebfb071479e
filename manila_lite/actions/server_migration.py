# SPDX-License-Identifier: Apache-2.0
"""What an administrator may ask about moving a share server: whether, to begin, to finish, to call it off, how far it is.

Source of the rules: Manila API 2.57. Whatever a check can find out is found out before anything changes.
"""

import dataclasses
import re
import time
from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors, operations, states
from manila_lite.context import RequestContext
from manila_lite.db import operations as rows
from manila_lite.db import (
    pairs,
    server_migrations,
    services,
    serving,
    share_networks,
    share_servers,
    transitions,
)
from manila_lite.db.engine import retry
from manila_lite.db.models import share_type_extra_specs
from manila_lite.states import Migration

_HOST = re.compile(r'[^@#\s]+@[^@#\s]+(#[^#\s]+)?')
_CHECK = 'share_server.migration_check'
#: What is asked of a migration.
OPTIONS = ('writable', 'nondisruptive', 'preserve_snapshots')
#: Seconds between looks for the answer of the backend.
_LOOK = 0.1


@dataclasses.dataclass(frozen=True)
class Move:
    """A server (row), where to, and all that moves with it. ``to`` may name a pool, ``host`` is its backend."""

    server: Any
    to: str
    network_id: str
    zone_id: str | None
    places: tuple[Any, ...]
    shares: tuple[Any, ...]
    snapshots: tuple[Any, ...]
    options: Mapping[str, bool]

    @property
    def host(self) -> str:
        """``host@backend``."""
        return operations.backend_of(self.to)

    @property
    def keeps_addresses(self) -> bool:
        """Whether the target takes over the addresses of the source."""
        return self.network_id == self.server.share_network_id

    def data(self, target: str) -> dict[str, Any]:
        """Return what the operation needs to know."""
        return {'target': target, 'to': self.to, 'from': self.server.host, 'network_id': self.network_id,
                'zone_id': self.zone_id, 'keeps_addresses': self.keeps_addresses, 'options': dict(self.options),
                'types': sorted(server_migrations.types_of(self.shares)), 'size': sum(row.size for row in self.shares),
                'proto': self.shares[0].share_proto, 'phase_one_began': time.time()}


# Before anything changes ----------------------------------------------------------------------------

def _examined(conn: Any, ctx: RequestContext, ident: str, wanted: Mapping[str, Any]) -> Move:
    """Return what is to move.

    :raises errors.Invalid: the host or the network is none.
    :raises errors.Conflict: something is not as it must be; the message names it.
    """
    server = share_servers.get(conn, ident)
    to = wanted['host']
    service = _service(conn, ctx, to)
    network_id = wanted.get('new_share_network_id') or server.share_network_id
    places = serving.subnets_for(conn, _network(conn, ctx, server, network_id), service.availability_zone_id)
    move = Move(server, to, network_id, service.availability_zone_id, tuple(places),
                tuple(server_migrations.shares_of(conn, ident)), tuple(server_migrations.snapshots_of(conn, ident)),
                {name: wanted[name] for name in OPTIONS})
    _must_be_movable(conn, move)
    _must_fit(conn, move, service)
    return move


def _service(conn: Any, ctx: RequestContext, to: str) -> Any:
    if not _HOST.fullmatch(to):
        raise errors.Invalid(f'host: {to!r} is no backend; write host@backend or host@backend#pool.')
    try:
        row = services.get(conn, operations.backend_of(to), 'manila-share')
    except errors.NotFound:
        raise errors.Invalid(f'host: there is no backend {to}.', code='backend_not_found') from None
    if row.disabled or not services.is_up(row.heartbeat_at, row.stopped, ctx.conf.service_down_time):
        raise errors.Invalid(f'host: the backend {to} is {"disabled" if row.disabled else "down"}.', code='backend_down')
    return row


def _network(conn: Any, ctx: RequestContext, server: Any, network_id: str) -> str:
    try:
        found = share_networks.get(conn, ctx, network_id)
    except errors.NotFound:
        raise errors.Invalid(f'new_share_network_id: there is no share network {network_id}.') from None
    if found.project_id != server.project_id:
        raise errors.Invalid(f'new_share_network_id: share network {network_id} is of another project.')
    if found.status != 'active':
        raise errors.WrongState(f'Share network {network_id} is {found.status}, not active.')
    return network_id


def _must_be_movable(conn: Any, move: Move) -> None:
    server = move.server
    if server.status != 'active':
        raise errors.WrongState(f'Share server {server.id} is {server.status}, not active.')
    if not move.shares:
        raise errors.Conflict(f'Share server {server.id} has no shares, so there is nothing to move.')
    if move.host == server.host and move.keeps_addresses:
        raise errors.Conflict(f'Share server {server.id} is on {move.host} already, in the same share network.')
    for share in move.shares:
        if share.status != 'available' or share.access_rules_status == 'error' or share.is_soft_deleted:
            raise errors.WrongState(f'Share {share.id} is {"in the recycle bin" if share.is_soft_deleted else share.status} '
                                    f'and its access rules are {share.access_rules_status}; every share of the share server '
                                    'must be available, its rules not in error.')
        if share.share_group_id:
            raise errors.Conflict(f'Share {share.id} is in share group {share.share_group_id}, which would be torn apart.')
        if share.task_state and share.task_state.startswith('migration') and share.task_state not in _IDLE:
            raise errors.Conflict(f'Share {share.id} is busy: its task state is {share.task_state}.')
    for snapshot in move.snapshots:
        if snapshot.status != 'available':
            raise errors.WrongState(f'Snapshot {snapshot.id} is {snapshot.status}, not available.')


_IDLE = (Migration.SUCCESS, Migration.ERROR, Migration.CANCELLED)


def _must_fit(conn: Any, move: Move, service: Any) -> None:
    if not move.places:
        raise errors.Conflict(f'Share network {move.network_id} has no subnet in zone {service.zone}, where {move.host} is.')
    specs = pairs.of_many(conn, share_type_extra_specs, server_migrations.types_of(move.shares))
    for kind, found in specs.items():
        zones = [name.strip() for name in found.get('availability_zones', '').split(',') if name.strip()]
        if zones and service.zone not in zones:
            raise errors.Conflict(f'Share type {kind} is for zones {", ".join(zones)}; {move.host} is in {service.zone}.')


# Asking ---------------------------------------------------------------------------------------------

def check(ctx: RequestContext, ident: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the server could move, what was asked for, and what the backend supports.

    :raises: as ``start``, but not for what only the scheduler or the backend objects to: that is the answer.
    """
    with ctx.db.reader() as conn:
        move = _examined(conn, ctx, ident, wanted)
    support = _asked(ctx, move)
    network = {'share_network_id': move.network_id, 'new_share_network_id': move.network_id}
    return {
        'compatible': _objection(move, support) is None,
        'requested_capabilities': {**move.options, 'host': move.to, **network},
        'supported_capabilities': {**{name: bool(support.get(name)) for name in (
            *OPTIONS, 'migration_cancel', 'migration_get_progress')}, **network}}


def _objection(move: Move, support: Mapping[str, Any]) -> str | None:
    """Return why the server cannot move as it is wanted to, or nothing."""
    if not support.get('compatible'):
        return support.get('reason') or f'{move.host} cannot take it in.'
    if move.options['nondisruptive'] and not move.keeps_addresses:
        return 'nondisruptive: not into another share network.'
    lacking = [name for name in OPTIONS if move.options[name] and not support.get(name)]
    return f'{move.host} cannot do that {", ".join(lacking)}.' if lacking else None


def _asked(ctx: RequestContext, move: Move) -> dict[str, Any]:
    """Return what scheduler and backend say. Not for use in a transaction.

    :raises errors.Conflict: nothing, for ``[api] migration_check_timeout`` seconds.
    """
    wake = _begin_check(ctx, move)
    wake.send(ctx)
    end = time.monotonic() + ctx.conf.api.migration_check_timeout
    while (row := _answer(ctx, wake.operation_id)).state == rows.OPEN and time.monotonic() < end:
        time.sleep(_LOOK)
    _forget(ctx, wake.operation_id)
    if row.state == rows.OPEN:
        raise errors.Conflict(f'The backend {move.host} did not say in time whether it can take the share server in.',
                              code='backend_silent')
    return dict(row.data['support'])


@retry
def _begin_check(ctx: RequestContext, move: Move) -> operations.Wake:
    with ctx.db.writer() as conn:
        return operations.begin(conn, ctx, _CHECK, 'share_server', move.server.id, topic='scheduler', lane=operations.FAST,
                                data=move.data(''))


@retry
def _answer(ctx: RequestContext, ident: str) -> Any:
    with ctx.db.reader() as conn:
        return rows.get(conn, ident)


@retry
def _forget(ctx: RequestContext, ident: str) -> None:
    with ctx.db.writer() as conn:
        rows.remove(conn, (ident,))


# Beginning ------------------------------------------------------------------------------------------

def start(ctx: RequestContext, ident: str, wanted: Mapping[str, Any]) -> None:
    """The server, its shares and their snapshots stand in ``server_migrating`` and are being copied.

    ``wanted``: host, writable, nondisruptive, preserve_snapshots, and perhaps new_share_network_id.

    :raises errors.NotFound: there is no such server.
    :raises errors.Invalid: the host or the network is none, or the wishes contradict each other.
    :raises errors.Conflict: something is not as it must be, or scheduler or backend object; the message says what.
    """
    with ctx.db.reader() as conn:
        move = _examined(conn, ctx, ident, wanted)
    if move.options['nondisruptive'] and not move.keeps_addresses:
        raise errors.Invalid('nondisruptive: clients would notice a move into another share network.')
    objection = _objection(move, _asked(ctx, move))
    if objection:
        raise errors.Conflict(f'Share server {ident} cannot move to {move.to}: {objection}', code='migration_refused')
    with ctx.db.writer() as conn:
        wake = _begin(conn, ctx, move, _examined(conn, ctx, ident, wanted))
    wake.send(ctx)


def _begin(conn: Any, ctx: RequestContext, asked: Move, move: Move) -> operations.Wake:
    if [row.id for row in asked.shares] != [row.id for row in move.shares]:
        raise errors.WrongState('The shares of the share server changed in the meantime; try again.')
    source, target = move.server, uuidutils.generate_uuid()
    transitions.begin(conn, states.SHARE_SERVER, 'migrate', source.id, task_state=Migration.STARTING)
    _begin_all(conn, move, 'server_migrate')
    share_servers.insert(conn, {
        'id': target, 'share_network_id': move.network_id, 'host': move.host, 'identifier': target,
        'source_share_server_id': source.id, 'is_auto_deletable': False,
        **{name: getattr(source, name) for name in _KEPT}}, [place.id for place in move.places], 'receive')
    return operations.begin(conn, ctx, server_migrations.KIND, 'share_server', source.id, topic='scheduler',
                            serial=f'server:{source.id}', open_key=f'server:{source.id}', data=move.data(target))


_KEPT = ('share_server_multiple_subnet_support', 'network_allocation_update_support', 'security_service_update_support')


def _begin_all(conn: Any, move: Move, verb: str) -> None:
    for machine, idents in ((states.SHARE, [row.instance_id for row in move.shares]),
                            (states.SNAPSHOT, [row.id for row in move.snapshots])):
        if transitions.begin_many(conn, machine, verb, idents) != len(idents):
            raise errors.WrongState(f'A {machine.noun} of the share server changed in the meantime; try again.')


# Going on -------------------------------------------------------------------------------------------

def complete(ctx: RequestContext, ident: str) -> str:
    """The target takes over now, or tries once more. Returns its id.

    :raises errors.Invalid: the copy is not ready for that.
    """
    with ctx.db.writer() as conn:
        server = share_servers.get(conn, ident)
        found = server_migrations.last(conn, ident)
        if found is None or found.resource_id != ident:
            raise errors.Invalid(f'Share server {ident} is not being migrated.', code='not_migrating')
        if server.task_state == Migration.ERROR and found.state == rows.FAILED and found.data.get('cut'):
            _once_more(conn, server, found)
        elif not transitions.server_task(conn, ident, (Migration.COPIED,), Migration.COMPLETING):
            raise errors.Invalid(f'The migration of share server {ident} cannot be completed: its task state is '
                                 f'{server.task_state}, not {Migration.COPIED}.', code='not_migrating')
        rows.hurry(conn, found.id)
    _tell(ctx, found)
    return str(found.data['target'])


def _once_more(conn: Any, server: Any, found: Any) -> None:
    """The cut-over, which failed, is open again, with everything that it is about.

    :raises errors.WrongState: some of that is not in error any more.
    """
    target = found.data['target']
    transitions.begin(conn, states.SHARE_SERVER, 'cut_over', server.id, task_state=Migration.COMPLETING)
    transitions.begin(conn, states.SHARE_SERVER, 'cut_over_to', target, task_state=None)
    for machine, idents in ((states.SHARE, [row.instance_id for row in server_migrations.shares_of(conn, server.id)]),
                            (states.SNAPSHOT, [row.id for row in server_migrations.snapshots_of(conn, server.id)])):
        transitions.begin_many(conn, machine, 'server_cut_over', idents)
    if not rows.reopen(conn, found.id, server_migrations.CUT_OVER, f'server:{server.id}'):
        raise errors.WrongState(f'The migration of share server {server.id} is going on already.')


def cancel(ctx: RequestContext, ident: str) -> None:
    """The migration ends, and everything will be as before.

    :raises errors.Invalid: there is none that could be called off any more.
    """
    may_be = [state for state in Migration if state.may_be_cancelled]
    with ctx.db.writer() as conn:
        server = share_servers.get(conn, ident)
        found = server_migrations.last(conn, ident)
        if found is None or not transitions.server_task(conn, ident, may_be, Migration.CANCELLING):
            raise errors.Invalid(f'The migration of share server {ident} cannot be cancelled: its task state is '
                                 f'{server.task_state}.', code='not_migrating')
        rows.hurry(conn, found.id)
    _tell(ctx, found)


def _tell(ctx: RequestContext, found: Any) -> None:
    operations.Wake(found.topic, found.host, found.id, found.lane).send(ctx)


def progress(ctx: RequestContext, ident: str) -> dict[str, Any]:
    """Return how far the migration is: percent, task state, the target, and what is known of bytes and seconds.

    :raises errors.NotFound: there is no such server and never was a migration of it.
    :raises errors.Invalid: the server is not being migrated.
    """
    with ctx.db.reader() as conn:
        found = server_migrations.last(conn, ident)
        here = serving.by_ids(conn, (ident,))
    if found is None and not here:
        raise errors.NotFound.of('share server', ident)
    state = here[0].task_state if here else Migration.SUCCESS
    if found is None or state is None:
        raise errors.Invalid(f'Share server {ident} is not being migrated.', code='not_migrating')
    return {'task_state': str(state), 'destination_share_server_id': found.data['target'],
            **_figures(found.data, state)}


def _figures(data: Mapping[str, Any], state: str) -> dict[str, Any]:
    known = data.get('progress') or {}
    percent = 100 if state in (Migration.SUCCESS, Migration.COPIED, Migration.COMPLETING) else known.get('percent', 0)
    done, total = known.get('bytes_done'), known.get('bytes_total')
    took = max(time.time() - data.get('phase_one_began', time.time()), 0.001)
    rate = done / took if done else None
    return {'total_progress': percent, 'phase': 2 if data.get('cut') else 1, 'bytes_done': done, 'bytes_total': total,
            'bytes_per_second': int(rate) if rate else None,
            'seconds_left': int((total - done) / rate) if rate and total is not None and percent < 100 else None}


def reset_task_state(ctx: RequestContext, ident: str, value: str | None) -> None:
    """The server shows ``value``; a migration that is open on it finds out.

    :raises errors.Invalid: it is no task state.
    """
    wanted = states.MIGRATION_ALIASES.get(value or '', value)
    if wanted is not None and wanted not in set(Migration):
        raise errors.Invalid(f'task_state: {value!r} is none; it is null or one of {", ".join(Migration)}.')
    with ctx.db.writer() as conn:
        share_servers.get(conn, ident)
        transitions.server_task(conn, ident, (None, *Migration), wanted)


