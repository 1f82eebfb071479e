# SPDX-License-Identifier: Apache-2.0
"""A share server moves to this backend: its data while clients work, then, when an operator says so, its clients.

The steps are the documentation. Up to ``wait`` all can be undone and the source serves as before; behind it comes the
cut-over, which is only ever repeated. How far it is stands in the source's ``task_state``; an operator's word (complete,
cancel) is a compare-and-swap of it that the next step, or the next look, finds.
"""

import dataclasses
from typing import Any

from manila_lite import errors, kinds, operations, states
from manila_lite.db import access, pairs, server_migrations, serving, share_networks, shares, transitions
from manila_lite.db import operations as rows
from manila_lite.db.engine import Connection
from manila_lite.db.models import share_server_details
from manila_lite.drivers.interface import abilities_of
from manila_lite.manager import addresses, servers
from manila_lite.manager.serving import load, network
from manila_lite.manager.task import plain, to_kind
from manila_lite.network import load as plugins
from manila_lite.operations import Plan, Step, Work
from manila_lite.operations.migrating import Cancelled, given_up, settle, tell
from manila_lite.states import Migration

#: Seconds after which a migration that waits for its operator looks by itself.
_PARKED = 3600.0


# What drivers are told ------------------------------------------------------------------------------

def _migration(work: Work) -> kinds.ServerMigration:
    """Return the migration as it stands."""
    data = work.data
    with work.ctx.db.reader() as conn:
        loaded = load(conn, (work.resource_id, data['target']))
        source = loaded.get(work.resource_id)
        if source is None:
            raise errors.Final(f'Share server {work.resource_id} is gone.')
        target = loaded.get(data['target']) or kinds.ShareServer(
            data['target'], share_network_id=data['network_id'], project_id=source.project_id,
            networks=tuple(network(subnet, (), {})
                           for subnet in serving.subnets_for(conn, data['network_id'], data['zone_id'])))
        found = server_migrations.shares_of(conn, source.id)
        exports = shares.exports(conn, [row.instance_id for row in found])
        rules = access.granted(conn, [row.id for row in found])
        taken = server_migrations.snapshots_of(conn, source.id)
    known = {row.id: to_kind(row, {}, exports.get(row.instance_id, ()), server=source) for row in found}
    if data.get('cut') and data['keeps_addresses']:
        target = dataclasses.replace(target, networks=source.networks, admin_allocations=source.admin_allocations)
    return kinds.ServerMigration(
        source, data['from'], target, data['pool'], tuple(known.values()),
        tuple(kinds.Snapshot(row.id, known[row.share_id], row.size, provider_location=row.provider_location) for row in taken),
        {known[ident].id: tuple(granted) for ident, granted in rules.items()}, data['keeps_addresses'], **data['options'])


# May it come? ---------------------------------------------------------------------------------------

def check(work: Work) -> None:
    """What the backend says is in ``data['support']``."""
    if kinds.Ability.MIGRATE_SERVER not in abilities_of(work.service.driver):
        support = kinds.MigrationSupport(False, reason='The driver of the backend does not take share servers in.')
    else:
        support = work.service.driver.share_server_migration_check_compatibility(_migration(work))
    work.data['support'] = dataclasses.asdict(support)


def checked(conn: Connection, work: Work) -> None:
    """The answer can be read."""
    rows.move(conn, work.op.id, work.op.owner, data=work.data)


def not_checked(conn: Connection, work: Work, error: Exception) -> None:
    """That it failed is the answer; what was said on purpose can be read."""
    rows.move(conn, work.op.id, work.op.owner, data=work.data | {
        'support': {'compatible': False, 'reason': errors.told(error)}})


# Phase one: as often as needed, and back again ------------------------------------------------------

#: The task states from which a step may enter its own; the one it enters is among them, since it may come again.
_FROM = {
    Migration.IN_PROGRESS: (Migration.STARTING, Migration.IN_PROGRESS),
    Migration.DRIVER_STARTING: (Migration.IN_PROGRESS, Migration.DRIVER_STARTING),
    Migration.COPYING: (Migration.DRIVER_STARTING, Migration.COPYING),
    Migration.COPIED: (Migration.COPYING, Migration.COPIED),
}


def _enter(work: Work, state: Migration, unless: Migration | None = None) -> bool:
    """The source shows ``state``; or says no, if it shows ``unless``.

    :raises Cancelled: the migration was called off.
    :raises errors.Final: an administrator set another state by hand.
    """
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        if transitions.server_task(conn, work.resource_id, _FROM[state], state):
            return True
        now = _task_state(conn, work)
    if unless is not None and now == unless:
        return False
    if now == Migration.CANCELLING:
        raise Cancelled
    raise errors.Final(f'The migration of share server {work.resource_id} was stopped: its task state is {now}.')


def _task_state(conn: Connection, work: Work) -> str | None:
    found = serving.by_ids(conn, (work.resource_id,))
    return found[0].task_state if found else None


def reserve(work: Work) -> None:
    """The target has addresses, unless it takes over those of the source."""
    _enter(work, Migration.IN_PROGRESS)
    if work.data['keeps_addresses']:
        return
    with work.ctx.db.reader() as conn:
        places = serving.subnets_of(conn, (work.data['target'],)).get(work.data['target'], [])
    plugin = plugins.make(work.ctx.conf)
    for subnet in places:
        addresses.allocate(work.ctx.services, plugin, work.data['target'], subnet,
                           work.service.driver.ALLOCATIONS_PER_SUBNET, work.hold)


def release(work: Work) -> None:
    """The target has no addresses."""
    if not work.data.get('cut'):
        addresses.free(work.ctx.services, plugins.make(work.ctx.conf), work.data['target'], hold=work.hold)


def start(work: Work) -> None:
    """The backend has begun to copy."""
    _enter(work, Migration.DRIVER_STARTING)
    with servers.alone(work.data['target']):
        work.service.driver.share_server_migration_start(_migration(work))


def cancel(work: Work) -> None:
    """Nothing of the copy is left at the backend."""
    if work.data.get('cut'):
        return
    work.data['left'] = True
    with servers.alone(work.data['target']):
        work.service.driver.share_server_migration_cancel(_migration(work))
    work.data['left'] = False


def copy(work: Work) -> None:
    """The copy is as near to the source as it gets.

    :raises errors.Again: not yet; ``data['progress']`` says how far it is.
    """
    _enter(work, Migration.COPYING)
    migration = _migration(work)
    with servers.alone(work.data['target']):
        finished = work.service.driver.share_server_migration_continue(migration)
        progress = work.service.driver.share_server_migration_get_progress(migration)
    work.data['progress'] = dataclasses.asdict(progress)
    if not finished:
        raise errors.Again(work.service.section.server_migration_driver_continue_update_interval)


def wait(work: Work) -> None:
    """The operator wants the cut-over.

    :raises errors.Again: nobody said a word yet.
    """
    if _enter(work, Migration.COPIED, unless=Migration.COMPLETING):
        raise errors.Again(_PARKED)
    work.data['cut'] = True


# Phase two: forward only ----------------------------------------------------------------------------

def cut_over(work: Work) -> None:
    """Clients find everything at the target, and nothing at the source."""
    migration = _migration(work)
    with servers.alone(work.data['target']):
        moved = work.service.driver.share_server_migration_complete(migration)
    untold = [share.id for share in migration.shares if share.id not in moved.export_locations]
    if untold:
        raise errors.ManilaLiteError(f'The backend did not say where {len(untold)} shares are now.')
    work.data['moved'] = {
        'details': dict(moved.details), 'provider_locations': dict(moved.provider_locations),
        'exports': {ident: [plain(location) for location in places] for ident, places in moved.export_locations.items()}}


def moved_over(conn: Connection, work: Work) -> None:
    """Shares, snapshots and addresses are the target's; the source is going."""
    source, target, data = work.resource_id, work.data['target'], work.data
    share_networks.hold(conn, data['network_id'], states.SHARE_NETWORK.statuses)
    left = _what_is_left(conn, source)
    verb = states.SHARE['server_migrate']
    settle(conn, source, verb.during, verb.ok or '')
    there = {row.instance_id for row in server_migrations.shares_of(conn, source)}
    shares.set_exports_of(conn, {ident: [kinds.ExportLocation(**place) for place in places]
                                 for ident, places in data['moved']['exports'].items() if ident in there})
    server_migrations.set_provider_locations(conn, data['moved']['provider_locations'])
    server_migrations.move_shares(conn, source, target, {
        'host': f'{work.op.host}#{data["pool"]}', 'availability_zone_id': data['zone_id'],
        'share_network_id': data['network_id']})
    if data['keeps_addresses']:
        server_migrations.take_addresses(conn, source, target)
    pairs.replace(conn, share_server_details, target, data['moved']['details'])
    transitions.finish(conn, states.SHARE_SERVER, 'receive', target, task_state=Migration.SUCCESS, is_auto_deletable=True)
    transitions.finish(conn, states.SHARE_SERVER, 'migrate', source, task_state=Migration.SUCCESS)
    _begin_release(conn, work, left)


def _what_is_left(conn: Connection, source: str) -> dict[str, Any]:
    """Return what the source's backend may throw away once nobody needs it."""
    found = server_migrations.shares_of(conn, source)
    instances = {row.id: row.instance_id for row in found}
    return {
        'shares': [{'id': row.instance_id, 'share_id': row.id, 'project_id': row.project_id, 'size': row.size,
                    'proto': row.share_proto, 'pool': (row.host or '').partition('#')[2]} for row in found],
        'snapshots': [{'id': row.id, 'share': instances[row.share_id], 'size': row.size,
                       'provider_location': row.provider_location}
                      for row in server_migrations.snapshots_of(conn, source)]}


def _begin_release(conn: Connection, work: Work, left: dict[str, Any]) -> None:
    transitions.begin(conn, states.SHARE_SERVER, 'delete', work.resource_id)
    operations.begin(conn, work.ctx, server_migrations.RELEASE, 'share_server', work.resource_id, topic='share',
                     host=work.data['from'], serial=f'server:{work.resource_id}',
                     data=left)


def ended_badly(conn: Connection, work: Work, error: Exception) -> None:
    """Before the cut-over all is as it was. In it, everything that moves is in error, and kept for another try."""
    if not work.data.get('cut'):
        given_up(conn, work, error)
        return
    during = states.SHARE['server_cut_over'].during
    settle(conn, work.resource_id, during, states.SHARE['server_cut_over'].fail)
    transitions.fail(conn, states.SHARE_SERVER, 'cut_over', work.resource_id, task_state=Migration.ERROR)
    transitions.fail(conn, states.SHARE_SERVER, 'cut_over_to', work.data['target'], task_state=Migration.ERROR)
    tell(conn, work, error)


# At the backend that it left ------------------------------------------------------------------------

def throw_away(work: Work) -> None:
    """Nothing of the shares that have moved is left here."""
    with work.ctx.db.reader() as conn:
        server = servers.found(conn, work)
    moved = {about['id']: kinds.Share(**about, server=server) for about in work.data['shares']}
    for about in work.data['snapshots']:
        work.service.driver.delete_snapshot(kinds.Snapshot(
            about['id'], moved[about['share']], about['size'], provider_location=about['provider_location']))
    for share in moved.values():
        work.service.driver.delete_share(share)


PLANS = [
    Plan('share_server.migration_check', (Step(check),), checked, not_checked),
    Plan(server_migrations.KIND, (Step(reserve, release), Step(start, cancel), Step(copy), Step(wait), Step(cut_over)),
         moved_over, ended_badly),
    Plan(server_migrations.RELEASE, (Step(throw_away), Step(servers.teardown), Step(servers.free)),
         servers.removed, servers.not_removed),
]

