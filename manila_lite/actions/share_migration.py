# SPDX-License-Identifier: Apache-2.0
"""Actions on the migration of a single share: start, complete, cancel, progress.

Source of the rules: Manila API 2.22. Checks are made before anything changes.
"""

import dataclasses
import time
from collections.abc import Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors, states
from manila_lite.actions import encryption, migration, share_bin, share_requests
from manila_lite.actions.migration import OPTIONS
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries import quotas, share_migration, share_server_queries, share_types, shares
from manila_lite.states import Migration
from manila_lite.workflow import share_migration as ends


@dataclasses.dataclass(frozen=True)
class Move(migration.MigrationTarget):
    """A share (row), its destination, share type and share network there, and its snapshots. ``to`` may name a pool."""

    share: Any
    to: str
    kind: share_types.ShareType
    network_id: str | None
    zone_id: str | None
    snapshots: tuple[Any, ...]
    options: Mapping[str, bool]

    @property
    def only_the_place(self) -> bool:
        """Whether share type and share network stay the same."""
        return (self.kind.id, self.network_id) == (self.share.share_type_id, self.share.share_network_id)

    def data(self) -> dict[str, Any]:
        """Return the data of the migration's operation."""
        share = self.share
        return {'target': uuidutils.generate_uuid(), 'instance': share.instance_id, 'to': self.to,
                'from': engine.backend_of(share.host), 'network_id': self.network_id, 'zone_id': self.zone_id,
                'type_id': self.kind.id, 'types': [self.kind.id], 'size': share.size, 'proto': share.share_proto,
                'options': dict(self.options), 'abilities': share_requests.abilities(self.kind), 'phase_one_began': time.time(),
                'excluded': {share.host: 'the share is there'} if self.only_the_place else {}}


# Before anything changes ----------------------------------------------------------------------------

def _examined(conn: Any, ctx: RequestContext, ident: str, wanted: Mapping[str, Any]) -> Move:
    """Return the planned move.

    :raises errors.Invalid: there is no such host, type or network.
    :raises errors.Conflict: a resource is in the wrong state; the message names it.
    """
    share = shares.get(conn, ctx, ident, own=True)
    service = migration.backend(conn, ctx, wanted['host'])
    kind = _type(conn, ctx, share, wanted.get('new_share_type_id'))
    encryption.key_of({'encryption_key_ref': share.encryption_key_ref}, kind)
    network_id = _network(conn, ctx, share, kind, wanted.get('new_share_network_id'))
    move = Move(share, wanted['host'], kind, network_id, service.availability_zone_id,
                tuple(share_migration.snapshots_of(conn, ident)), {name: bool(wanted.get(name)) for name in OPTIONS})
    _must_be_movable(conn, move)
    _must_fit(conn, ctx, move, service)
    return move


def _type(conn: Any, ctx: RequestContext, share: Any, wanted: str | None) -> share_types.ShareType:
    try:
        return share_types.get(conn, ctx, wanted or share.share_type_id)
    except errors.NotFound:
        raise errors.Invalid(f'new_share_type_id: there is no share type {wanted}.') from None


def _network(conn: Any, ctx: RequestContext, share: Any, kind: share_types.ShareType, wanted: str | None) -> str | None:
    if not share_requests.is_true(kind, 'driver_handles_share_servers'):
        if wanted:
            raise errors.Invalid(f'new_share_network_id: share type {kind.name} makes no use of share networks.')
        return None
    ident: str | None = wanted or share.share_network_id
    if ident is None:
        raise errors.Invalid(f'new_share_network_id: missing; share type {kind.name} needs a share network.')
    migration.network(conn, ctx, share.project_id, ident)
    return ident


def _must_be_movable(conn: Any, move: Move) -> None:
    share = move.share
    share_bin.must_be_out(share)
    if share.status != 'available' or share.access_rules_status != states.Rules.ACTIVE:
        raise errors.WrongState(f'Share {share.id} is {share.status} and its access rules are {share.access_rules_status}; it '
                                'must be available, and its rules active.')
    if share.share_group_id:
        raise errors.Conflict(f'Share {share.id} is in share group {share.share_group_id}, which would be torn apart.')
    if share.replication_type:
        raise errors.Conflict(f'Share {share.id} is of a share type with replicas ({share.replication_type}).')
    for row in shares.list_second_instances(conn, share_id=share.id):
        raise errors.Conflict(f'Share {share.id} left something on {row.host} when it was moved; delete share instance '
                              f'{row.instance_id} first.', code='share_has_second_instance')
    if move.to == share.host and move.only_the_place:
        raise errors.Conflict(f'host: share {share.id} is on {share.host} already, with that share type and share network.')
    _snapshots_must_be_movable(conn, move)


def _snapshots_must_be_movable(conn: Any, move: Move) -> None:
    for snapshot in move.snapshots:
        if snapshot.status != 'available':
            raise errors.WrongState(f'Snapshot {snapshot.id} is {snapshot.status}, not available.')
    if move.snapshots and not move.options['preserve_snapshots']:
        raise errors.Conflict(f'preserve_snapshots: share {move.share.id} has {len(move.snapshots)} snapshots, which have to '
                              'move with it.')
    if move.snapshots and not share_requests.is_true(move.kind, 'snapshot_support'):
        raise errors.Conflict(f'new_share_type_id: share {move.share.id} has snapshots, and share type {move.kind.name} has no '
                              'snapshot_support.')
    if copy := share_migration.copy_in_making(conn, move.share.id):
        raise errors.WrongState(f'Share {copy} is just being made from a snapshot of share {move.share.id}.')


def _must_fit(conn: Any, ctx: RequestContext, move: Move, service: Any) -> None:
    share_requests.check_type_limit(ctx, move.kind, move.share.size)
    migration.must_be_offered(move.kind.name, move.kind.extra_specs, service)
    if move.network_id and not share_server_queries.subnets_for(conn, move.network_id, service.availability_zone_id):
        raise errors.Conflict(f'Share network {move.network_id} has no subnet in zone {service.zone}, where {move.host} is.')


# Beginning ------------------------------------------------------------------------------------------

def start(ctx: RequestContext, ident: str, wanted: Mapping[str, Any], *, by_itself: bool = False) -> None:
    """Start the migration of a share: it and its snapshots go to ``migrating`` and are copied.

    ``wanted``: host, and any of writable, nondisruptive, preserve_snapshots, new_share_type_id, new_share_network_id,
    force_host_assisted_migration. ``by_itself``: the copy takes over as soon as it is made, without a request to
    complete.

    :raises errors.NotFound: there is no such share.
    :raises errors.Invalid: there is no such host, type or network, or a host-assisted copy is asked for.
    :raises errors.WrongState: the state of the share or a snapshot does not allow it.
    :raises errors.Conflict: another resource is in the wrong state, or scheduler or backend object; the message says
        why.
    :raises errors.OverQuota: the quota of the new type does not allow it.
    """
    with ctx.db.reader() as conn:
        move = _examined(conn, ctx, ident, wanted)
    if wanted.get('force_host_assisted_migration'):
        raise errors.Invalid('force_host_assisted_migration: there is no host-assisted copy here; only the driver of the '
                             'destination copies.', code='no_host_assisted_migration')
    data = {**move.data(), 'by_itself': by_itself}
    support = migration.asked(ctx, lambda conn: engine.begin(
        conn, ctx, share_migration.CHECK, 'share', ident, topic='scheduler', lane=engine.FAST, data=data), move.host)
    if objection := migration.lacking(move.host, move.options, support):
        raise errors.Conflict(f'Share {ident} cannot move to {move.to}: {objection}', code='migration_refused')
    data |= migration.agreed(support)
    with ctx.db.writer() as conn:
        now = _examined(conn, ctx, ident, wanted)
        if (now.share.instance_id, now.share.size) != (move.share.instance_id, move.share.size):
            raise errors.WrongState(f'Share {ident} changed in the meantime; try again.')
        wake = _begin(conn, ctx, now, data)
        ends.announce(ctx, ident, data, f'{ends.COPY}.start')
    wake.send(ctx)


def _check_quota(conn: Any, ctx: RequestContext, move: Move) -> None:
    share = move.share
    if move.kind.id == share.share_type_id:
        return
    own = share_requests.counted(share.size, share_requests.abilities(move.kind)['replication_type'])
    quotas.check(conn, ctx.conf, share.project_id, share.user_id, move.kind.id, {
        **own, 'snapshots': len(move.snapshots), 'snapshot_gigabytes': sum(row.size for row in move.snapshots)},
        share.size, only_type=True)
    before = share_requests.counted(share.size, share.replication_type)
    if new := {name: amount for name, amount in own.items() if name not in before}:
        quotas.check(conn, ctx.conf, share.project_id, share.user_id, None, new)


def _begin(conn: Any, ctx: RequestContext, move: Move, data: dict[str, Any]) -> engine.Wake:
    share = move.share
    _check_quota(conn, ctx, move)
    transitions.begin(conn, states.SHARE, 'migrate', share.instance_id)
    transitions.task_state(conn, share.id, Migration.STARTING)
    taken = [row.id for row in move.snapshots]
    if transitions.begin_many(conn, states.SNAPSHOT, 'migrate', taken) != len(taken):
        raise errors.WrongState('A snapshot of the share changed in the meantime; try again.')
    transitions.create(conn, states.SHARE, {
        'id': data['target'], 'share_id': share.id, 'share_type_id': move.kind.id, 'is_aside': True,
        'availability_zone_id': move.zone_id, 'share_network_id': move.network_id,
        'access_rules_status': states.Rules.ACTIVE.value}, 'receive')
    return engine.begin(conn, ctx, share_migration.KIND, 'share', share.id, topic='scheduler', serial=share.instance_id,
                            open_key=f'share:{share.id}', data=data)


# Going on -------------------------------------------------------------------------------------------

def _last(conn: Any, ident: str) -> Any:
    found = rows.list_of_resource(conn, ident, share_migration.KIND)
    return found[-1] if found else None


def complete(ctx: RequestContext, ident: str) -> None:
    """Begin the cut-over to the copy, or retry a failed one.

    :raises errors.Invalid: there is no migration, or its copy is not ready.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, ident, own=True)
        found = _last(conn, ident)
        if found is None:
            raise errors.Invalid(f'Share {ident} is not being migrated.', code='not_migrating')
        if share.task_state == Migration.ERROR and found.state == rows.FAILED and found.data.get('cut'):
            _once_more(conn, share, found)
        elif not transitions.share_task(conn, ident, (Migration.COPIED,), Migration.COMPLETING):
            raise errors.Invalid(f'The migration of share {ident} cannot be completed: its task state is {share.task_state}, '
                                 f'not {Migration.COPIED}.', code='not_migrating')
        rows.make_due(conn, found.id)
        ends.announce(ctx, ident, {**found.data, 'cut': True}, f'{ends.COMPLETE}.start')
    migration.notify(ctx, found)


def _once_more(conn: Any, share: Any, found: Any) -> None:
    """Reopen a failed cut-over, with its share instances and snapshots.

    :raises errors.WrongState: one of these is not in error any more.
    """
    transitions.begin(conn, states.SHARE, 'cut_over', share.instance_id)
    transitions.begin(conn, states.SHARE, 'cut_over_to', found.data['target'])
    transitions.begin_many(conn, states.SNAPSHOT, 'cut_over', [row.id for row in share_migration.snapshots_of(conn, share.id)])
    transitions.task_state(conn, share.id, Migration.COMPLETING)
    if not rows.reopen(conn, found.id, share_migration.CUT_OVER, f'share:{share.id}'):
        raise errors.WrongState(f'The migration of share {share.id} is going on already.')


def cancel(ctx: RequestContext, ident: str) -> None:
    """Cancel the migration of a share. Everything goes back to the state before.

    :raises errors.Invalid: there is no migration that can still be cancelled.
    """
    with ctx.db.writer() as conn:
        share = shares.get(conn, ctx, ident, own=True)
        found = _last(conn, ident)
        migration.must_be_cancellable(found, share.task_state)
        if found is None or not transitions.share_task(conn, ident, migration.CANCELLABLE, Migration.CANCELLING):
            raise errors.Invalid(f'The migration of share {ident} cannot be cancelled: its task state is {share.task_state}.',
                                 code='not_migrating')
        rows.make_due(conn, found.id)
        ends.announce(ctx, ident, found.data, f'{ends.CANCEL}.start')
    migration.notify(ctx, found)


def progress(ctx: RequestContext, ident: str) -> dict[str, Any]:
    """Return the progress of a migration: percent, task state, and known numbers of bytes and seconds.

    :raises errors.Invalid: the share is not being migrated, and never was.
    """
    with ctx.db.reader() as conn:
        share = shares.get(conn, ctx, ident, own=True)
        found = _last(conn, ident)
    if found is None or share.task_state is None:
        raise errors.Invalid(f'Share {ident} is not being migrated.', code='not_migrating')
    return {'task_state': share.task_state, **migration.figures(found.data, share.task_state)}
