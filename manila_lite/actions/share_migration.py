# SPDX-License-Identifier: Apache-2.0
"""Requests on the migration of a single share: the adapter of ``migration.py`` for shares.

Source of the rules: Manila API 2.22.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from oslo_utils import timeutils, uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import encryption, migration_targets, share_bin, share_requests
from manila_lite.actions.migration import Begun, Requests, must_have_left, objection
from manila_lite.actions.migration_targets import MAY, MUST, OPTIONS, Move
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection, Row
from manila_lite.db.queries import (
    messages,
    quotas,
    share_migration,
    share_server_queries,
    share_types,
    shares,
)
from manila_lite.operation_data.migrations import Answer, MigrateShare
from manila_lite.states import Migration
from manila_lite.workflow.share_migration import SHARES

#: Task states of a migration that is over before it begins, by the code of the refusal: clients of Manila wait for them.
_OVER_AT_ONCE = {'already_there': Migration.SUCCESS, 'migration_refused': Migration.ERROR}
#: Statuses of a share that moves by itself, or with its share server.
_MOVING = tuple(states.SHARE[verb].during for verb in ('migrate', 'server_migrate'))


@dataclasses.dataclass(frozen=True)
class ShareMove(Move):
    """A share (row), its destination, share type and share network there, and its snapshots. ``to`` may name a pool.

    ``target`` is the id of the second instance.
    """

    share: Row[Any]
    to: str
    share_type: share_types.ShareType
    network_id: str | None
    zone_id: str | None
    snapshots: tuple[Any, ...]
    options: Mapping[str, bool]
    by_itself: bool = False
    evacuation: str | None = None
    assist: str | None = None
    target: str = dataclasses.field(default_factory=uuidutils.generate_uuid)

    @property
    def changes_only_the_host(self) -> bool:
        """Whether share type and share network stay the same."""
        return (self.share_type.id, self.network_id) == (
            self.share.share_type_id,
            self.share.share_network_id,
        )


def _get(conn: Connection, ctx: RequestContext, resource_id: str) -> Row[Any]:
    """Return the share's row."""
    return shares.get(conn, ctx, resource_id, own=True)


def _examine(conn: Connection, ctx: RequestContext, resource_id: str, wanted: Mapping[str, Any]) -> ShareMove:
    """Return the planned move, with a share type and share network that exist.

    ``wanted``: host, and any of writable, nondisruptive, preserve_snapshots, new_share_type_id, new_share_network_id,
    preserve_metadata, force_host_assisted_migration; by_itself and evacuation as in ``Move``; assist.
    """
    share = _get(conn, ctx, resource_id)
    service = migration_targets.backend(conn, ctx, wanted['host'])
    share_type = _type(conn, ctx, share, wanted.get('new_share_type_id'))
    share_requests.must_have_qos(conn, share_type)
    encryption.choose_key({'encryption_key_ref': share.encryption_key_ref}, share_type)
    network_id = _network(conn, ctx, share, share_type, wanted.get('new_share_network_id'))
    move = ShareMove(
        share,
        wanted['host'],
        share_type,
        network_id,
        service.availability_zone_id,
        tuple(share_migration.snapshots_of(conn, resource_id)),
        {name: bool(wanted.get(name)) for name in OPTIONS},
        bool(wanted.get('by_itself')),
        wanted.get('evacuation'),
        _assist(wanted),
    )
    _must_be_movable(conn, move)
    _must_fit(conn, ctx, move, service)
    return move


def _check_options(move: ShareMove, wanted: Mapping[str, Any]) -> None:
    """Refuse options that a copy by the host does not support, if it is forced."""
    if move.assist == MUST and (beyond := _given(wanted, _NOT_FORCED)):
        raise errors.Invalid(
            f'force_host_assisted_migration: cannot be combined with {", ".join(beyond)}.',
            code='no_host_assisted_migration',
        )


def _data(move: ShareMove) -> MigrateShare:
    """Return the data of the operations."""
    share = move.share
    return MigrateShare(
        target=move.target,
        instance=share.instance_id,
        to=move.to,
        source_host=engine.backend_of(share.host),
        network_id=move.network_id,
        zone_id=move.zone_id,
        type_id=move.share_type.id,
        types=[move.share_type.id],
        size=share.size,
        proto=share.share_proto,
        options=dict(move.options),
        abilities=share_requests.abilities(move.share_type),
        phase_one_began=timeutils.utcnow_ts(microsecond=True),
        by_itself=move.by_itself,
        evacuation=move.evacuation,
        assist=move.assist,
        excluded={share.host: 'the share is there'} if move.changes_only_the_host else {},
    )


def _begin(
    conn: Connection, ctx: RequestContext, asked: ShareMove, move: ShareMove, support: Answer
) -> Begun[MigrateShare]:
    """Set the share and its snapshots to migrating, and insert the second instance."""
    share = move.share
    if (share.instance_id, share.size) != (asked.share.instance_id, asked.share.size):
        raise errors.WrongState(f'Share {share.id} changed in the meantime; try again.')
    _check_quota(conn, ctx, move)
    transitions.begin(conn, states.SHARE, 'migrate', share.instance_id)
    SHARES.set_task_state(conn, share.id, Migration.STARTING)
    snapshot_ids = [row.id for row in move.snapshots]
    if transitions.begin_many(conn, states.SNAPSHOT, 'migrate', snapshot_ids) != len(snapshot_ids):
        raise errors.WrongState('A snapshot of the share changed in the meantime; try again.')
    transitions.create(
        conn,
        states.SHARE,
        {
            'id': asked.target,
            'share_id': share.id,
            'share_type_id': move.share_type.id,
            'is_secondary': True,
            'availability_zone_id': move.zone_id,
            'share_network_id': move.network_id,
            'access_rules_status': states.Rules.ACTIVE.value,
        },
        'receive',
    )
    data = _data(asked)
    data.agree(support)
    return Begun(share.instance_id, data, owner=share.project_id)


def _shown(
    conn: Connection, ctx: RequestContext, share_id: str, last: MigrateShare | None
) -> tuple[str | None, dict[str, Any]]:
    """Return the task state of the share. Its target is not shown."""
    return _get(conn, ctx, share_id).task_state, {}


# Checks ---------------------------------------------------------------------------------------------

#: Options that no copy by a host supports, and one that may not be combined with a forced one, as in Manila.
_BEYOND_HOST = ('writable', 'preserve_metadata', 'nondisruptive')
_NOT_FORCED = (*_BEYOND_HOST, 'preserve_snapshots')


def _given(wanted: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [name for name in names if wanted.get(name)]


def _assist(wanted: Mapping[str, Any]) -> str | None:
    if wanted.get('force_host_assisted_migration'):
        return MUST
    if wanted.get('assist'):
        return MAY
    # A request without ``preserve_metadata`` is not one of a client of Manila.
    return MAY if 'preserve_metadata' in wanted and not _given(wanted, _BEYOND_HOST) else None


def _type(
    conn: Connection, ctx: RequestContext, share: Row[Any], wanted: str | None
) -> share_types.ShareType:
    try:
        return share_types.get(conn, ctx, wanted or share.share_type_id)
    except errors.NotFound:
        raise errors.Invalid(f'new_share_type_id: there is no share type {wanted}.') from None


def _network(
    conn: Connection,
    ctx: RequestContext,
    share: Row[Any],
    share_type: share_types.ShareType,
    wanted: str | None,
) -> str | None:
    if not share_requests.is_spec_true(share_type, 'driver_handles_share_servers'):
        if wanted:
            raise errors.Invalid(
                f'new_share_network_id: share type {share_type.name} does not use share networks.'
            )
        return None
    network_id: str | None = wanted or share.share_network_id
    if network_id is None:
        raise errors.Invalid(
            f'new_share_network_id: missing; share type {share_type.name} needs a share network.'
        )
    migration_targets.check_network(conn, ctx, share.project_id, network_id)
    return network_id


def _must_be_movable(conn: Connection, move: ShareMove) -> None:
    share = move.share
    share_bin.must_be_out(share)
    others = shares.list_second_instances(conn, share_id=share.id)
    # A request that was faster may have begun between the two questions.
    if share.status in _MOVING or any(row.status == states.SHARE['receive'].during for row in others):
        raise errors.WrongState(f'Share {share.id} is being migrated already.', code='already_migrating')
    if share.status != 'available' or share.access_rules_status != states.Rules.ACTIVE:
        raise errors.WrongState(
            f'Share {share.id} is {share.status} and its access rules are {share.access_rules_status}; it '
            'must be available, and its rules active.'
        )
    if share.share_group_id:
        raise errors.Conflict(
            f'Share {share.id} is in share group {share.share_group_id}; the migration would split the group.'
        )
    if share.replication_type:
        raise errors.Conflict(
            f'Share {share.id} has a share type with replicas ({share.replication_type}) and cannot be '
            'migrated.'
        )
    for row in others:
        if row.status == states.SHARE['delete'].during and engine.backend_of(row.host) != move.host:
            continue  # its backend may be down for ever, and this move does not go there
        raise errors.Conflict(
            f'A migration of share {share.id} left share instance {row.instance_id} on {row.host}; delete '
            'that instance first.',
            code='share_has_second_instance',
        )
    if move.to == share.host and move.changes_only_the_host:
        raise errors.Conflict(
            f'host: share {share.id} is on {share.host} already, with that share type and share network.',
            code='already_there',
        )
    must_have_left(share, 'Share')
    if share.share_server_id:
        for server in share_server_queries.list_by_ids(conn, (share.share_server_id,)):
            must_have_left(server, 'Share server')
    _snapshots_must_be_movable(conn, move)


def _snapshots_must_be_movable(conn: Connection, move: ShareMove) -> None:
    for snapshot in move.snapshots:
        if snapshot.status != 'available':
            raise errors.WrongState(f'Snapshot {snapshot.id} is {snapshot.status}, not available.')
    if move.snapshots and not move.options['preserve_snapshots']:
        raise errors.Conflict(
            f'preserve_snapshots: share {move.share.id} has '
            f'{errors.count(len(move.snapshots), "snapshot")} that must move with it.'
        )
    if move.snapshots and not share_requests.is_spec_true(move.share_type, 'snapshot_support'):
        raise errors.Conflict(
            f'new_share_type_id: share {move.share.id} has snapshots, and share type {move.share_type.name} '
            'has no snapshot_support.'
        )
    if copy := share_migration.copy_in_making(conn, move.share.id):
        raise errors.WrongState(f'Share {copy} is being created from a snapshot of share {move.share.id}.')


def _must_fit(conn: Connection, ctx: RequestContext, move: ShareMove, service: Row[Any]) -> None:
    share_requests.check_size(ctx, move.share_type, move.share.size)
    if objection := migration_targets.objection_of_zone(
        move.share_type.name, move.share_type.extra_specs, service
    ):
        raise errors.Invalid(f'new_share_type_id: {objection}')
    if move.network_id and not share_server_queries.subnets_for(
        conn, move.network_id, service.availability_zone_id
    ):
        raise errors.Conflict(
            f'Share network {move.network_id} has no subnet in zone {service.zone}, where {move.host} is.'
        )


def _check_quota(conn: Connection, ctx: RequestContext, move: ShareMove) -> None:
    share = move.share
    if move.share_type.id == share.share_type_id:
        return
    own = share_requests.quota_usage(
        share.size, share_requests.abilities(move.share_type)['replication_type']
    )
    quotas.check(
        conn,
        ctx.conf,
        share.project_id,
        share.user_id,
        move.share_type.id,
        {
            **own,
            'snapshots': len(move.snapshots),
            'snapshot_gigabytes': sum(row.size for row in move.snapshots),
        },
        share.size,
        only_type=True,
    )
    before = share_requests.quota_usage(share.size, share.replication_type)
    if new := {name: amount for name, amount in own.items() if name not in before}:
        quotas.check(conn, ctx.conf, share.project_id, share.user_id, None, new)


# Requests -------------------------------------------------------------------------------------------

REQUESTS = Requests(
    SHARES, 'share', _get, _examine, _check_options, objection, _data, _begin, _shown, may_end_at_once=True
)
complete, cancel, progress = REQUESTS.complete, REQUESTS.cancel, REQUESTS.progress
reset_task_state = REQUESTS.reset_task_state


def start(ctx: RequestContext, share_id: str, wanted: Mapping[str, Any]) -> bool:
    """Start a migration, and say so. A share that is there already is not moved.

    A destination that cannot take the share ends the migration at once, with a user message. Raises as ``Requests.start``
    otherwise.
    """
    try:
        REQUESTS.start(ctx, share_id, wanted)
    except errors.Conflict as refusal:
        if refusal.code not in _OVER_AT_ONCE:
            raise
        _end_at_once(ctx, share_id, refusal)
        return refusal.code != 'already_there'
    return True


def _end_at_once(ctx: RequestContext, share_id: str, refusal: errors.Conflict) -> None:
    """Set the task state that the refusal leads to, unless another migration is under way."""
    end = _OVER_AT_ONCE[refusal.code]
    with ctx.db.writer() as conn:
        if not SHARES.swap_task_state(conn, share_id, (None, *states.MIGRATION_ENDS), end):
            raise errors.WrongState(f'Share {share_id} is being migrated already.', code='already_migrating')
        if end == Migration.ERROR:
            messages.create(
                conn,
                ctx,
                'SHARE',
                share_id,
                messages.Action.MIGRATE_SHARE,
                messages.Detail.MIGRATION_REFUSED,
                str(refusal),
            )
