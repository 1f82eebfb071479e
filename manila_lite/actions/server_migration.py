# SPDX-License-Identifier: Apache-2.0
"""Actions on the migration of a share server: check, start, complete, cancel, progress.

Source of the rules: Manila API 2.57. Checks are made before anything changes.
"""

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import migration
from manila_lite.actions.migration import OPTIONS
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values, transitions
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import (
    server_migration,
    share_groups,
    share_migration,
    share_networks,
    share_replicas,
    share_server_queries,
    share_servers,
)
from manila_lite.states import Migration
from manila_lite.workflow import server_migration as notes

_CHECK = 'share_server.migration_check'


@dataclasses.dataclass(frozen=True)
class Move(migration.MigrationTarget):
    """A share server (row), its destination, and all that moves with it.

    ``to`` may name a pool, ``host`` is its backend.
    """

    server: Any
    to: str
    network_id: str
    zone_id: str | None
    places: tuple[Any, ...]
    shares: tuple[Any, ...]
    snapshots: tuple[Any, ...]
    options: Mapping[str, bool]

    @property
    def keeps_addresses(self) -> bool:
        """Whether the target takes over the addresses of the source."""
        return self.network_id == self.server.share_network_id

    def data(self, target: str) -> dict[str, Any]:
        """Return the data of the migration's operation."""
        return {'target': target, 'to': self.to, 'from': self.server.host, 'network_id': self.network_id,
                'share_network_id': self.server.share_network_id, 'new_share_network_id': self.network_id,
                'shares': len(self.shares), 'snapshots': len(self.snapshots),
                'zone_id': self.zone_id, 'keeps_addresses': self.keeps_addresses, 'options': dict(self.options),
                'types': sorted(server_migration.types_of(self.shares)), 'size': sum(row.size for row in self.shares),
                'proto': self.shares[0].share_proto, 'phase_one_began': time.time()}


# Before anything changes ----------------------------------------------------------------------------

def _examined(conn: Any, ctx: RequestContext, ident: str, wanted: Mapping[str, Any]) -> Move:
    """Return the planned move.

    :raises errors.Invalid: there is no such host or network.
    :raises errors.Conflict: a resource is in the wrong state; the message names it.
    """
    server = share_servers.get_visible(conn, ctx, ident)
    to = wanted['host']
    service = migration.backend(conn, ctx, to)
    network_id = wanted.get('new_share_network_id') or server.share_network_id
    migration.network(conn, ctx, server.project_id, network_id)
    places = share_server_queries.subnets_for(conn, network_id, service.availability_zone_id)
    move = Move(server, to, network_id, service.availability_zone_id, tuple(places),
                tuple(server_migration.shares_of(conn, ident)), tuple(server_migration.snapshots_of(conn, ident)),
                {name: wanted[name] for name in OPTIONS})
    _must_be_movable(conn, move)
    _must_fit(conn, move, service)
    return move


def _must_be_movable(conn: Any, move: Move) -> None:
    server = move.server
    if server.status != 'active':
        raise errors.WrongState(f'Share server {server.id} is {server.status}, not active.')
    if server.encryption_key_ref:
        raise errors.Invalid(f'Share server {server.id} is encrypted, and stays where it is.', code='share_server_encrypted')
    if replicated := share_replicas.find_replicated_on_server(conn, server.id):
        raise errors.Conflict(f'Share {replicated} on share server {server.id} has replicas; delete them first.',
                              code='share_has_replicas')
    if not move.shares:
        raise errors.Conflict(f'Share server {server.id} has no shares, so there is nothing to move.')
    if move.host == server.host and move.keeps_addresses:
        raise errors.Conflict(f'Share server {server.id} is on {move.host} already, in the same share network.')
    if group := share_groups.find_on_server(conn, server.id):
        raise errors.Conflict(f'Share group {group} is on share server {server.id}, and would be torn apart.')
    if coming := share_migration.comes_to(conn, server.id):
        raise errors.Conflict(f'Share {coming} is being moved to share server {server.id}, or was and left something there.')
    _must_be_well(move)


def _must_be_well(move: Move) -> None:
    for share in move.shares:
        if share.status != 'available' or share.access_rules_status == 'error' or share.is_soft_deleted:
            raise errors.WrongState(f'Share {share.id} is {"in the recycle bin" if share.is_soft_deleted else share.status} '
                                    f'and its access rules are {share.access_rules_status}; every share of the share server '
                                    'must be available, its rules not in error.')
        if share.share_group_id:
            raise errors.Conflict(f'Share {share.id} is in share group {share.share_group_id}, which would be torn apart.')
        if share.task_state and share.task_state.startswith('migration') and share.task_state not in migration.IDLE:
            raise errors.Conflict(f'Share {share.id} is busy: its task state is {share.task_state}.')
    for snapshot in move.snapshots:
        if snapshot.status != 'available':
            raise errors.WrongState(f'Snapshot {snapshot.id} is {snapshot.status}, not available.')


def _must_fit(conn: Any, move: Move, service: Any) -> None:
    if not move.places:
        raise errors.Conflict(f'Share network {move.network_id} has no subnet in zone {service.zone}, where {move.host} is.')
    specs = key_values.of_many(conn, share_type_extra_specs, server_migration.types_of(move.shares))
    for kind, found in specs.items():
        migration.must_be_offered(kind, found, service)


# Asking ---------------------------------------------------------------------------------------------

def check(ctx: RequestContext, ident: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the server could move, the requested options, and those that the backend supports.

    :raises: as ``start``, except for objections of the scheduler or the backend: they are part of the answer.
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
    """Return the reason why the server cannot move as requested, or None."""
    if move.options['nondisruptive'] and not move.keeps_addresses:
        return 'nondisruptive: not into another share network.'
    return migration.lacking(move.host, move.options, support)


def _asked(ctx: RequestContext, move: Move) -> dict[str, Any]:
    """Return the answer of the scheduler and the backend. Not for use in a transaction.

    :raises errors.Conflict: there was no answer for ``[api] migration_check_timeout`` seconds.
    """
    return migration.asked(ctx, lambda conn: engine.begin(
        conn, ctx, _CHECK, 'share_server', move.server.id, topic='scheduler', lane=engine.FAST, data=move.data('')),
        move.host)


# Beginning ------------------------------------------------------------------------------------------

def start(ctx: RequestContext, ident: str, wanted: Mapping[str, Any]) -> None:
    """Start the migration of a share server: its shares and snapshots go to ``server_migrating`` and are copied.

    ``wanted``: host, writable, nondisruptive, preserve_snapshots, and perhaps new_share_network_id.

    :raises errors.NotFound: there is no such server.
    :raises errors.Invalid: there is no such host or network, or the options contradict each other.
    :raises errors.Conflict: a resource is in the wrong state, or scheduler or backend object; the message says why.
    """
    with ctx.db.reader() as conn:
        move = _examined(conn, ctx, ident, wanted)
    if move.options['nondisruptive'] and not move.keeps_addresses:
        raise errors.Invalid('nondisruptive: clients would notice a move into another share network.')
    support = _asked(ctx, move)
    if objection := _objection(move, support):
        raise errors.Conflict(f'Share server {ident} cannot move to {move.to}: {objection}', code='migration_refused')
    with ctx.db.writer() as conn:
        wake, data = _begin(conn, ctx, move, _examined(conn, ctx, ident, wanted), support)
        notes.announce(ctx, ident, data, f'{notes.COPY}.start')
    wake.send(ctx)


def _begin(conn: Any, ctx: RequestContext, asked: Move, move: Move,
           support: Mapping[str, Any]) -> tuple[engine.Wake, dict[str, Any]]:
    if [row.id for row in asked.shares] != [row.id for row in move.shares]:
        raise errors.WrongState('The shares of the share server changed in the meantime; try again.')
    source, chosen = move.server, support.get('server')
    transitions.begin(conn, states.SHARE_SERVER, 'migrate', source.id, task_state=Migration.STARTING)
    _begin_all(conn, move, 'server_migrate')
    target = _taken_in(conn, move, chosen) if chosen else _made(conn, move)
    data = {**move.data(target), **migration.agreed(support), 'was_idle': bool(chosen)}
    return engine.begin(conn, ctx, server_migration.KIND, 'share_server', source.id, topic='scheduler',
                            serial=f'server:{source.id}', open_key=f'server:{source.id}', data=data), data


def _made(conn: Any, move: Move) -> str:
    """Insert a new target server. Return its id."""
    source, target = move.server, uuidutils.generate_uuid()
    share_servers.insert(conn, {
        'id': target, 'share_network_id': move.network_id, 'host': move.host, 'identifier': target,
        'source_share_server_id': source.id, 'is_auto_deletable': False,
        **{name: getattr(source, name) for name in _KEPT}}, [place.id for place in move.places], 'receive')
    return target


def _taken_in(conn: Any, move: Move, target: str) -> str:
    """Use the existing server that the backend chose as the target. Return its id.

    :raises errors.WrongState: the server is not idle any more.
    """
    share_networks.lock(conn, move.network_id, states.SHARE_NETWORK.statuses)     # no share is placed on it meanwhile
    if target not in share_server_queries.list_idle(conn, move.host, move.network_id, [place.id for place in move.places]):
        raise errors.WrongState(f'Share server {target}, which was to take the shares in, is not idle any more; try again.')
    transitions.begin(conn, states.SHARE_SERVER, 'take_in', target, source_share_server_id=move.server.id,
                      is_auto_deletable=False)
    return target


_KEPT = ('share_server_multiple_subnet_support', 'network_allocation_update_support', 'security_service_update_support')


def _begin_all(conn: Any, move: Move, verb: str) -> None:
    for machine, idents in ((states.SHARE, [row.instance_id for row in move.shares]),
                            (states.SNAPSHOT, [row.id for row in move.snapshots])):
        if transitions.begin_many(conn, machine, verb, idents) != len(idents):
            raise errors.WrongState(f'A {machine.resource_name} of the share server changed in the meantime; try again.')


# Going on -------------------------------------------------------------------------------------------

def complete(ctx: RequestContext, ident: str) -> str:
    """Begin the cut-over to the target, or retry a failed one. Return the target's id.

    :raises errors.Invalid: there is no migration, or its copy is not ready.
    """
    with ctx.db.writer() as conn:
        server = share_servers.get_visible(conn, ctx, ident)
        found = server_migration.last(conn, ident)
        if found is None or found.resource_id != ident:
            raise errors.Invalid(f'Share server {ident} is not being migrated.', code='not_migrating')
        if server.task_state == Migration.ERROR and found.state == rows.FAILED and found.data.get('cut'):
            _once_more(conn, server, found)
        elif not transitions.server_task(conn, ident, (Migration.COPIED,), Migration.COMPLETING):
            raise errors.Invalid(f'The migration of share server {ident} cannot be completed: its task state is '
                                 f'{server.task_state}, not {Migration.COPIED}.', code='not_migrating')
        rows.make_due(conn, found.id)
        notes.announce(ctx, ident, {**found.data, 'cut': True}, f'{notes.COMPLETE}.start')
    migration.notify(ctx, found)
    return str(found.data['target'])


def _once_more(conn: Any, server: Any, found: Any) -> None:
    """Reopen a failed cut-over, with its servers, shares and snapshots.

    :raises errors.WrongState: one of these is not in error any more.
    """
    target = found.data['target']
    transitions.begin(conn, states.SHARE_SERVER, 'cut_over', server.id, task_state=Migration.COMPLETING)
    transitions.begin(conn, states.SHARE_SERVER, 'cut_over_to', target, task_state=None)
    for machine, idents in ((states.SHARE, [row.instance_id for row in server_migration.shares_of(conn, server.id)]),
                            (states.SNAPSHOT, [row.id for row in server_migration.snapshots_of(conn, server.id)])):
        transitions.begin_many(conn, machine, 'server_cut_over', idents)
    if not rows.reopen(conn, found.id, server_migration.CUT_OVER, f'server:{server.id}'):
        raise errors.WrongState(f'The migration of share server {server.id} is going on already.')


def cancel(ctx: RequestContext, ident: str) -> None:
    """Cancel the migration of a share server. Everything goes back to the state before.

    :raises errors.Invalid: there is no migration that can still be cancelled.
    """
    with ctx.db.writer() as conn:
        server = share_servers.get_visible(conn, ctx, ident)
        found = server_migration.last(conn, ident)
        migration.must_be_cancellable(found, server.task_state)
        if found is None or not transitions.server_task(conn, ident, migration.CANCELLABLE, Migration.CANCELLING):
            raise errors.Invalid(f'The migration of share server {ident} cannot be cancelled: its task state is '
                                 f'{server.task_state}.', code='not_migrating')
        rows.make_due(conn, found.id)
        notes.announce(ctx, ident, found.data, f'{notes.CANCEL}.start')
    migration.notify(ctx, found)


def progress(ctx: RequestContext, ident: str) -> dict[str, Any]:
    """Return the progress of a migration: percent, task state, target, and known numbers of bytes and seconds.

    :raises errors.NotFound: there is no such server and never was a migration of it.
    :raises errors.Invalid: the server is not being migrated.
    """
    with ctx.db.reader() as conn:
        found = server_migration.last(conn, ident)
        known = share_server_queries.list_by_ids(conn, (ident, found.data['target']) if found else (ident,))
    here = [row for row in known if row.id == ident]
    if not (found or here) or not (ctx.is_admin or any(row.project_id == ctx.project_id for row in known)):
        raise errors.NotFound.of('share server', ident)
    state = here[0].task_state if here else Migration.SUCCESS
    if found is None or state is None:
        raise errors.Invalid(f'Share server {ident} is not being migrated.', code='not_migrating')
    return {'task_state': str(state), 'destination_share_server_id': found.data['target'],
            **migration.figures(found.data, state)}


def reset_task_state(ctx: RequestContext, ident: str, value: str | None) -> None:
    """Set the task state of a share server. An open migration notices the change.

    :raises errors.Invalid: the value is no task state.
    """
    wanted = migration.task_state(value)
    with ctx.db.writer() as conn:
        share_servers.get_visible(conn, ctx, ident)
        transitions.server_task(conn, ident, (None, *Migration), wanted)


