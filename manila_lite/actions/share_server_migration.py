# SPDX-License-Identifier: Apache-2.0
"""Requests on the migration of a share server: the adapter of ``migration.py`` for share servers.

Source of the rules: Manila API 2.57.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from oslo_utils import timeutils, uuidutils

from manila_lite import errors, states
from manila_lite.actions import migration_targets
from manila_lite.actions.migration import Begun, Requests, must_have_left, objection, task_state
from manila_lite.actions.migration_targets import MAY, MUST, OPTIONS, Move
from manila_lite.context import RequestContext
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import (
    share_groups,
    share_migration,
    share_networks,
    share_replicas,
    share_server_capabilities,
    share_server_migration,
    share_server_queries,
    share_servers,
    unused_share_servers,
)
from manila_lite.operation_data.migrations import Answer, MigrateServer, Part
from manila_lite.states import Migration
from manila_lite.workflow.share_server_migration import SERVERS

#: Statuses of the source and of the target of a migration that runs.
_MOVING = tuple(states.SHARE_SERVER[verb].during for verb in ('migrate', 'receive'))


@dataclasses.dataclass(frozen=True)
class ServerMove(Move):
    """A share server (row), its destination with the subnets there, and all that moves with it.

    ``to`` may name a pool, ``host`` is its backend. ``replicas``: those that are not active, of the shares of the server.
    """

    server: Row[Any]
    to: str
    network_id: str
    zone_id: str | None
    subnets: tuple[Any, ...]
    shares: tuple[Any, ...]
    snapshots: tuple[Any, ...]
    replicas: tuple[Any, ...]
    options: Mapping[str, bool]
    by_itself: bool = False
    evacuation: str | None = None
    assist: str | None = None

    @property
    def keeps_addresses(self) -> bool:
        """Whether the target takes over the addresses of the source."""
        return bool(self.network_id == self.server.share_network_id)


def _get(conn: Connection, ctx: RequestContext, resource_id: str) -> Row[Any]:
    """Return the server's row."""
    return share_servers.get_visible(conn, ctx, resource_id)


def _examine(
    conn: Connection, ctx: RequestContext, resource_id: str, wanted: Mapping[str, Any]
) -> ServerMove:
    """Return the planned move, with a share network that exists."""
    server = _get(conn, ctx, resource_id)
    network_id = wanted.get('new_share_network_id') or server.share_network_id
    migration_targets.check_network(conn, ctx, server.project_id, network_id)
    service = migration_targets.backend(conn, ctx, wanted['host'])
    subnets = share_server_queries.subnets_for(conn, network_id, service.availability_zone_id)
    move = ServerMove(
        server,
        wanted['host'],
        network_id,
        service.availability_zone_id,
        tuple(subnets),
        tuple(share_server_migration.shares_of(conn, resource_id)),
        tuple(share_server_migration.snapshots_of(conn, resource_id)),
        tuple(share_replicas.list_of_server(conn, resource_id)),
        {name: wanted[name] for name in OPTIONS},
        bool(wanted.get('by_itself')),
        wanted.get('evacuation'),
        _assist(wanted),
    )
    _must_be_movable(conn, move)
    _must_fit(conn, move, service)
    return move


def _check_options(move: ServerMove, wanted: Mapping[str, Any]) -> None:
    """Refuse a move into another share network, or by a copy of the host, that clients would not notice."""
    if move.options['nondisruptive'] and not move.keeps_addresses:
        raise errors.Invalid('nondisruptive: clients would notice a move into another share network.')
    if move.options['nondisruptive'] and move.assist == MUST:
        raise errors.Invalid(
            'force_host_assisted_migration: cannot be combined with nondisruptive.',
            code='no_host_assisted_migration',
        )


def _objection(move: ServerMove, support: Answer) -> str | None:
    """Return the reason why the server cannot move as requested, or None."""
    if move.options['nondisruptive'] and not move.keeps_addresses:
        return 'nondisruptive: not into another share network.'
    if move.replicas and not support.replicas:
        mover = 'a host' if support.by_host else 'the driver there'
        return f'{mover} moves no share servers whose shares have replicas.'
    return objection(move, support)


def _data(move: ServerMove) -> MigrateServer:
    """Return the data of the operations. There is no target yet."""
    return MigrateServer(
        target='',
        to=move.to,
        source_host=move.server.host,
        network_id=move.network_id,
        share_network_id=move.server.share_network_id,
        new_share_network_id=move.network_id,
        shares=len(move.shares),
        snapshots=len(move.snapshots),
        zone_id=move.zone_id,
        keeps_addresses=move.keeps_addresses,
        options=dict(move.options),
        types=sorted(share_server_migration.types_of(move.shares)),
        size=sum(row.size for row in move.shares),
        proto=move.shares[0].share_proto,
        phase_one_began=timeutils.utcnow_ts(microsecond=True),
        parts=[Part(row.instance_id, row.share_type_id, row.size) for row in move.shares],
        by_itself=move.by_itself,
        evacuation=move.evacuation,
        assist=move.assist,
    )


def _begin(
    conn: Connection, ctx: RequestContext, asked: ServerMove, move: ServerMove, support: Answer
) -> Begun[MigrateServer]:
    """Set server, shares and snapshots to migrating, and insert or take in the target."""
    if [row.id for row in asked.shares] != [row.id for row in move.shares]:
        raise errors.WrongState('The shares of the share server changed in the meantime; try again.')
    source, chosen = move.server, support.server
    transitions.begin(conn, states.SHARE_SERVER, 'migrate', source.id, task_state=Migration.STARTING)
    _begin_all(conn, move, SERVERS.migrate_verb)
    target = _take_in(conn, move, chosen) if chosen else _insert_target(conn, move)
    data = _data(move)
    data.agree(support)
    data.target, data.was_idle = target, bool(chosen)
    # A copy by the host is tried out at addresses of its own, and gets those of the source at the cut-over.
    data.keeps_addresses = move.keeps_addresses and not support.by_host
    data.takes_addresses = move.keeps_addresses and support.by_host
    return Begun(f'server:{source.id}', data)


def _shown(
    conn: Connection, ctx: RequestContext, resource_id: str, last: MigrateServer | None
) -> tuple[str | None, dict[str, Any]]:
    """Return the task state of the server. A source that has moved is gone, and shows success."""
    known = share_server_queries.list_by_ids(conn, (resource_id, last.target) if last else (resource_id,))
    servers = [row for row in known if row.id == resource_id]
    if not (last or servers) or not (ctx.is_admin or any(row.project_id == ctx.project_id for row in known)):
        raise errors.NotFound.of('share server', resource_id)
    task_state = servers[0].task_state if servers else Migration.SUCCESS
    return task_state, {'destination_share_server_id': last.target} if last else {}


def _assist(wanted: Mapping[str, Any]) -> str | None:
    if wanted.get('force_host_assisted_migration'):
        return MUST
    return MAY if wanted.get('assist') else None


# Checks ---------------------------------------------------------------------------------------------


def _must_be_movable(conn: Connection, move: ServerMove) -> None:
    server = move.server
    if server.status in _MOVING:
        raise errors.WrongState(
            f'Share server {server.id} is being migrated already.', code='already_migrating'
        )
    if server.status != 'active':
        raise errors.WrongState(f'Share server {server.id} is {server.status}, not active.')
    must_have_left(server, 'Share server')
    if server.encryption_key_ref:
        raise errors.Invalid(
            f'Share server {server.id} is encrypted and cannot be migrated.', code='share_server_encrypted'
        )
    _replicas_must_allow_it(move)
    if not move.shares:
        raise errors.Conflict(f'Share server {server.id} has no shares, so there is nothing to move.')
    if move.host == server.host and move.keeps_addresses:
        raise errors.Conflict(
            f'Share server {server.id} is on {move.host} already, in the same share network.'
        )
    if group := share_groups.find_on_server(conn, server.id):
        raise errors.Conflict(
            f'Share group {group} is on share server {server.id}; the migration would split the group.'
        )
    if coming := share_migration.comes_to(conn, server.id):
        raise errors.Conflict(
            f'Share {coming} is being migrated to share server {server.id}, or a migration left an '
            'instance there.'
        )
    _nothing_must_be_left_there(conn, move)
    _shares_must_be_movable(move)


def _replicas_must_allow_it(move: ServerMove) -> None:
    """Refuse replicas that would move, and all, if the driver of the server moves no share with replicas."""
    server = move.server
    for replica in move.replicas:
        if not server.share_replicas_migration_support:
            raise errors.Conflict(
                f'Share {replica.share_id} on share server {server.id} has replicas; delete them first.',
                code='share_has_replicas',
            )
        if replica.share_server_id == server.id:
            raise errors.Conflict(
                f'Share server {server.id} has replica {replica.id} of share {replica.share_id}, which is '
                'not the active one; promote or delete it first.',
                code='share_has_replicas',
            )


def _nothing_must_be_left_there(conn: Connection, move: ServerMove) -> None:
    waiting = share_server_migration.instances_to_delete(conn, move.host)
    for share in move.shares:
        if share.instance_id in waiting:
            raise errors.Conflict(
                f'{move.host} still has to delete the data of share {share.id} that a migration left there.'
            )


def _shares_must_be_movable(move: ServerMove) -> None:
    for share in move.shares:
        if share.status != 'available' or share.access_rules_status == 'error' or share.is_soft_deleted:
            raise errors.WrongState(
                f'Share {share.id} is {"in the recycle bin" if share.is_soft_deleted else share.status} '
                f'and its access rules are {share.access_rules_status}; every share of the share server '
                'must be available, its rules not in error.'
            )
        if share.share_group_id:
            raise errors.Conflict(
                f'Share {share.id} is in share group {share.share_group_id}; the migration would split '
                'the group.'
            )
        if (
            share.task_state
            and share.task_state.startswith('migration')
            and share.task_state not in states.MIGRATION_ENDS
        ):
            raise errors.Conflict(f'Share {share.id} is busy: its task state is {share.task_state}.')
    for snapshot in move.snapshots:
        if snapshot.status != 'available':
            raise errors.WrongState(f'Snapshot {snapshot.id} is {snapshot.status}, not available.')
    if move.snapshots and not move.options['preserve_snapshots']:
        raise errors.Conflict(
            f'preserve_snapshots: share server {move.server.id} has '
            f'{errors.count(len(move.snapshots), "snapshot")} that must move with it.'
        )


def _must_fit(conn: Connection, move: ServerMove, service: Row[Any]) -> None:
    if not move.subnets:
        raise errors.Conflict(
            f'Share network {move.network_id} has no subnet in zone {service.zone}, where {move.host} is.'
        )
    specs_of_types = key_values.of_many(
        conn, share_type_extra_specs, share_server_migration.types_of(move.shares)
    )
    for share_type_id, specs in specs_of_types.items():
        if objection := migration_targets.objection_of_zone(share_type_id, specs, service):
            raise errors.Conflict(objection)


# Beginning ------------------------------------------------------------------------------------------


def _insert_target(conn: Connection, move: ServerMove) -> str:
    """Insert a new target server. Return its id."""
    source, target = move.server, uuidutils.generate_uuid()
    share_servers.insert(
        conn,
        {
            'id': target,
            'share_network_id': move.network_id,
            'host': move.host,
            'identifier': target,
            'source_share_server_id': source.id,
            'is_auto_deletable': False,
            **{name: getattr(source, name) for name in share_server_capabilities.NAMES},
        },
        [subnet.id for subnet in move.subnets],
        'receive',
    )
    return target


def _take_in(conn: Connection, move: ServerMove, target: str) -> str:
    """Use the existing server that the backend chose as the target. Return its id.

    :raises errors.WrongState: the server is not idle any more.
    """
    share_networks.lock(
        conn, move.network_id, states.SHARE_NETWORK.statuses
    )  # no share is placed on it meanwhile
    if target not in unused_share_servers.list_idle(
        conn, move.host, move.network_id, [subnet.id for subnet in move.subnets]
    ):
        raise errors.WrongState(f'The destination share server {target} is no longer idle; try again.')
    transitions.begin(
        conn,
        states.SHARE_SERVER,
        'take_in',
        target,
        source_share_server_id=move.server.id,
        is_auto_deletable=False,
    )
    return target


def _begin_all(conn: Connection, move: ServerMove, verb: str) -> None:
    for machine, row_ids in (
        (states.SHARE, [row.instance_id for row in move.shares]),
        (states.SNAPSHOT, [row.id for row in move.snapshots]),
    ):
        if transitions.begin_many(conn, machine, verb, row_ids) != len(row_ids):
            raise errors.WrongState(
                f'A {machine.resource_name} of the share server changed in the meantime; try again.'
            )


REQUESTS = Requests(SERVERS, 'server', _get, _examine, _check_options, _objection, _data, _begin, _shown)
start, complete = REQUESTS.start, REQUESTS.complete
cancel, progress = REQUESTS.cancel, REQUESTS.progress


def check(ctx: RequestContext, resource_id: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the server could move, the reason if not, the requested options, and those that the backend supports.

    :raises: as ``start``, except for objections of the scheduler or the backend: they are part of the answer.
    """
    with ctx.db.reader() as conn:
        move = _examine(conn, ctx, resource_id, wanted)
    support = REQUESTS.ask(ctx, resource_id, move)
    network = {'share_network_id': move.network_id, 'new_share_network_id': move.network_id}
    reason = _objection(move, support)
    return {
        'compatible': reason is None,
        'reason': reason,
        'requested_capabilities': {**move.options, 'host': move.to, **network},
        'supported_capabilities': {
            **{
                name: getattr(support, name)
                for name in (*OPTIONS, 'migration_cancel', 'migration_get_progress')
            },
            **network,
        },
    }


def reset_task_state(ctx: RequestContext, server_id: str, value: str | None) -> None:
    """Set the task state of a share server. An open migration notices the change.

    :raises errors.Invalid: the value is no task state.
    """
    REQUESTS.reset_task_state(ctx, server_id, task_state(value))
