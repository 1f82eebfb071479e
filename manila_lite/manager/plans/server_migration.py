# SPDX-License-Identifier: Apache-2.0
"""Migration of a share server to this backend: first its data, while clients work; at an operator's word, its clients.

The steps are the documentation. Up to ``wait`` every step can be undone and the source serves as before; after it comes
the cut-over, which can only be repeated. The source's ``task_state`` shows the progress. An operator's request
(complete, cancel) is a compare-and-swap of it, which the next step, or the next look, finds.
"""

import dataclasses
from typing import Any

from manila_lite import engine, errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_server_details
from manila_lite.db.queries import access, messages, share_networks, share_server_queries, shares
from manila_lite.db.queries import server_migration as server_migration_queries
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import migration as steps
from manila_lite.manager.plans import server_addresses, share_servers
from manila_lite.manager.plans.share_server_values import load, network
from manila_lite.manager.plans.task import plain, to_kind
from manila_lite.network import load as plugins
from manila_lite.states import Migration
from manila_lite.workflow import server_migration as server_migration_workflow
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.server_migration import finish_cutover, given_up

# Values for drivers ---------------------------------------------------------------------------------

def _migration(work: Work) -> values.ServerMigration:
    """Return the migration as it is now."""
    data = work.data
    with work.ctx.db.reader() as conn:
        loaded = load(conn, (work.resource_id, data['target']))
        source = loaded.get(work.resource_id)
        if source is None:
            raise errors.Final(f'Share server {work.resource_id} is gone.')
        target = loaded.get(data['target']) or values.ShareServer(
            data['target'], share_network_id=data['network_id'], project_id=source.project_id,
            networks=tuple(network(subnet, (), {})
                           for subnet in share_server_queries.subnets_for(conn, data['network_id'], data['zone_id'])))
        found = server_migration_queries.shares_of(conn, source.id)
        exports = shares.export_locations_of(conn, [row.instance_id for row in found])
        rules = access.granted_rules(conn, [row.id for row in found], cast=False)
        taken = server_migration_queries.snapshots_of(conn, source.id)
    known = {row.id: to_kind(row, {}, exports.get(row.instance_id, ()), server=source) for row in found}
    if data.get('cut') and data['keeps_addresses']:
        target = dataclasses.replace(target, networks=source.networks, admin_allocations=source.admin_allocations)
    return values.ServerMigration(
        source, data['from'], target, data['pool'], tuple(known.values()),
        tuple(values.Snapshot(row.id, known[row.share_id], row.size, provider_location=row.provider_location) for row in taken),
        {known[ident].id: tuple(granted) for ident, granted in rules.items()}, data['keeps_addresses'],
        bool(data.get('was_idle')), **data['options'])


# Check ----------------------------------------------------------------------------------------------

def check(work: Work) -> None:
    """Store the backend's answer in ``data['support']``."""
    if values.Ability.MIGRATE_SERVER not in abilities_of(work.service.driver):
        support = values.MigrationSupport(False, reason='The driver of the backend does not take share servers in.')
    else:
        support = work.service.driver.share_server_migration_check_compatibility(_migration(work))
    work.data['support'] = dataclasses.asdict(support)
    if support.compatible and not work.data['keeps_addresses']:
        work.data['support']['server'] = _chosen(work)


def _chosen(work: Work) -> str | None:
    """Return the id of the idle server that the backend chose as the target, if any.

    :raises errors.ManilaLiteError: it chose one that is not idle.
    """
    network_id = work.data['network_id']
    with work.ctx.db.reader() as conn:
        places = [subnet.id for subnet in share_server_queries.subnets_for(conn, network_id, work.data['zone_id'])]
        idle = load(conn, share_server_queries.list_idle(conn, work.op.host, network_id, places))
    chosen = work.service.driver.choose_share_server_compatible_for_migration(tuple(idle.values()), _migration(work))
    if chosen is not None and chosen not in idle:
        raise errors.ManilaLiteError(f'The backend chose share server {chosen}, which is not among those that are idle.')
    return chosen


# Phase one: can be repeated and undone --------------------------------------------------------------

def _enter(work: Work, state: Migration, unless: Migration | None = None) -> bool:
    return steps.enter(work, transitions.server_task, _task_state, state, unless)


def _task_state(conn: Connection, work: Work) -> str | None:
    found = share_server_queries.list_by_ids(conn, (work.resource_id,))
    return found[0].task_state if found else None


def reserve(work: Work) -> None:
    """Give the target addresses, unless it takes over those of the source."""
    _enter(work, Migration.IN_PROGRESS)
    if work.data['keeps_addresses']:
        return
    with work.ctx.db.reader() as conn:
        places = share_server_queries.subnets_of(conn, (work.data['target'],)).get(work.data['target'], [])
    plugin = plugins.make(work.ctx.conf)
    for subnet in places:
        server_addresses.allocate(work.ctx.services, plugin, work.data['target'], subnet,
                           work.service.driver.ALLOCATIONS_PER_SUBNET, work.hold)


def release(work: Work) -> None:
    """Free the target's addresses, unless it had them before."""
    if not work.data.get('cut') and not work.data.get('was_idle'):
        server_addresses.free(work.ctx.services, plugins.make(work.ctx.conf), work.data['target'], hold=work.hold)


def freeze(work: Work) -> None:
    """Make the source's access rules read-only, where this backend cannot copy otherwise.

    :raises errors.Again: the source's backend was told, and has not done it yet.
    """
    _enter(work, Migration.IN_PROGRESS)
    if not work.data.get('freeze'):
        return
    if not work.data.get('frozen'):
        with work.ctx.db.writer() as conn:
            work.hold(conn)
            server_migration_queries.cast_rules(conn, work.resource_id, True)
            wake = server_migration_workflow.apply_rules(conn, work.ctx, work.resource_id, work.data['from'])
        work.data['frozen'] = wake.operation_id
        wake.send(work.ctx)
    steps.answered(work, work.data['frozen'], 'The backend of the share server could not make its access rules read-only.')


def thaw(work: Work) -> None:
    """Have the source's backend make the access rules writable again. The migration does not wait for that."""
    if work.data.get('cut') or not work.data.get('freeze'):
        return
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        server_migration_queries.cast_rules(conn, work.resource_id, False)
        wake = server_migration_workflow.apply_rules(conn, work.ctx, work.resource_id, work.data['from'])
    wake.send(work.ctx)


def start(work: Work) -> None:
    """Have the backend begin to copy."""
    _enter(work, Migration.DRIVER_STARTING)
    with share_servers.alone(work.data['target']):
        work.service.driver.share_server_migration_start(_migration(work))


def cancel(work: Work) -> None:
    """Delete the copy at the backend."""
    if work.data.get('cut'):
        return
    work.data['left'] = True
    with share_servers.alone(work.data['target']):
        work.service.driver.share_server_migration_cancel(_migration(work))
    work.data['left'] = False


def copy(work: Work) -> None:
    """Continue the copy until it is as near to the source as possible.

    :raises errors.Again: it is not yet; ``data['progress']`` has the progress.
    """
    _enter(work, Migration.COPYING)
    migration = _migration(work)
    with share_servers.alone(work.data['target']):
        finished = steps.is_near(work.service.driver.share_server_migration_continue(migration))
        progress = work.service.driver.share_server_migration_get_progress(migration)
    work.data['progress'] = dataclasses.asdict(progress)
    if not finished:
        raise errors.Again(work.service.section.server_migration_driver_continue_update_interval)


def wait(work: Work) -> None:
    """Wait until the operator asks for the cut-over.

    :raises errors.Again: the operator has not decided yet.
    """
    parked = _enter(work, Migration.COPIED, unless=Migration.COMPLETING)
    if not work.data.get('copied'):
        server_migration_workflow.message_of(work, server_migration_workflow.COPY, 'end')
        work.data['copied'] = True
    if parked:
        raise errors.Again(steps.PARKED)
    work.data['cut'] = True


# Phase two: forward only ----------------------------------------------------------------------------

def cut_over(work: Work) -> None:
    """Move the clients' access from the source to the target."""
    migration = _migration(work)
    with share_servers.alone(work.data['target']):
        moved = work.service.driver.share_server_migration_complete(migration)
    untold = [share.id for share in migration.shares if share.id not in moved.export_locations]
    if untold:
        raise errors.ManilaLiteError(f'The backend did not say where {len(untold)} shares are now.')
    work.data['moved'] = {
        'details': dict(moved.details), 'provider_locations': dict(moved.provider_locations),
        'exports': {ident: [plain(location) for location in places] for ident, places in moved.export_locations.items()}}


def moved_over(conn: Connection, work: Work) -> None:
    """Move shares, snapshots and addresses to the target, and begin to delete the source."""
    source, target, data = work.resource_id, work.data['target'], work.data
    share_networks.lock(conn, data['network_id'], states.SHARE_NETWORK.statuses)
    left = _what_is_left(conn, source)
    verb = states.SHARE['server_migrate']
    finish_cutover(conn, source, verb.during, verb.ok or '')
    there = {row.instance_id for row in server_migration_queries.shares_of(conn, source)}
    shares.set_export_locations_of(conn, {ident: [values.ExportLocation(**place) for place in places]
                                          for ident, places in data['moved']['exports'].items() if ident in there})
    server_migration_queries.set_provider_locations(conn, data['moved']['provider_locations'])
    server_migration_queries.move_shares(conn, source, target, {
        'host': f'{work.op.host}#{data["pool"]}', 'availability_zone_id': data['zone_id'], 'cast_rules_to_readonly': False,
        'share_network_id': data['network_id']})
    snapshot_access.begin_all(conn, work.ctx, [row['share_id'] for row in left['shares']], work.op.host, moved=True)
    if data['keeps_addresses']:
        server_migration_queries.take_addresses(conn, source, target)
    key_values.replace(conn, share_server_details, target, data['moved']['details'])
    transitions.finish(conn, states.SHARE_SERVER, 'receive', target, task_state=Migration.SUCCESS, is_auto_deletable=True)
    transitions.finish(conn, states.SHARE_SERVER, 'migrate', source, task_state=Migration.SUCCESS)
    _begin_release(conn, work, left)
    server_migration_workflow.message_of(work, server_migration_workflow.COMPLETE, 'end')


def _what_is_left(conn: Connection, source: str) -> dict[str, Any]:
    """Return what the source's backend may delete once it is no longer needed."""
    found = server_migration_queries.shares_of(conn, source)
    instances = {row.id: row.instance_id for row in found}
    return {
        'shares': [{'id': row.instance_id, 'share_id': row.id, 'project_id': row.project_id, 'size': row.size,
                    'proto': row.share_proto, 'pool': (row.host or '').partition('#')[2]} for row in found],
        'snapshots': [{'id': row.id, 'share': instances[row.share_id], 'size': row.size,
                       'provider_location': row.provider_location}
                      for row in server_migration_queries.snapshots_of(conn, source)]}


def _begin_release(conn: Connection, work: Work, left: dict[str, Any]) -> None:
    transitions.begin(conn, states.SHARE_SERVER, 'delete', work.resource_id)
    engine.begin(conn, work.ctx, server_migration_queries.RELEASE, 'share_server', work.resource_id, topic='share',
                     host=work.data['from'], serial=f'server:{work.resource_id}',
                     data=left)


def ended_badly(conn: Connection, work: Work, error: Exception) -> None:
    """Restore everything if the cut-over has not begun. Else set all that moves to error, and keep it for another try."""
    (server_migration_workflow.fail_cutover if work.data.get('cut') else given_up)(conn, work, error)


# At the source backend ------------------------------------------------------------------------------

def apply_rules(work: Work) -> None:
    """Bring every share of the server to exactly the rules that it shall have now.

    :raises errors.Again: the former rules of one share are being told just now.
    """
    with work.ctx.db.reader() as conn:
        if server_migration_queries.rules_are_told(conn, work.resource_id):
            raise errors.Again(steps.SOON)
        server = share_servers.found(conn, work)
        rows = server_migration_queries.shares_of(conn, server.id)
        exports = shares.export_locations_of(conn, [row.instance_id for row in rows])
        wanted = access.granted_rules(conn, [row.id for row in rows])
    for row in rows:
        rules = wanted.get(row.id, [])
        told = work.service.driver.update_access(to_kind(row, {}, exports.get(row.instance_id, ()), server=server), rules)
        refused = [told[rule.id].error for rule in rules if rule.id in told and told[rule.id].error]
        if refused or any(rule.id not in told for rule in rules):
            raise errors.ManilaLiteError(f'The backend did not apply all rules of share {row.id}: {refused}')


def applied(conn: Connection, work: Work) -> None:
    """Do nothing: the rules themselves did not change."""


def not_applied(conn: Connection, work: Work, error: Exception) -> None:
    """Tell owners whose shares have not the rules that they should have. A migration that waits for the rules fails."""
    rows = server_migration_queries.thawed(conn, work.resource_id)
    for row in rows:
        transitions.rules_status(conn, row.instance_id, states.Rules.ERROR)
    messages.create_many(conn, work.ctx, 'SHARE', {row.id: row.project_id for row in rows},
                         messages.Action.UPDATE_ACCESS_RULES, messages.Detail.UNKNOWN_ERROR, errors.told(error))


def throw_away(work: Work) -> None:
    """Delete the shares that have moved, and their snapshots, at this backend."""
    with work.ctx.db.reader() as conn:
        server = share_servers.found(conn, work)
    moved = {about['id']: values.Share(**about, server=server) for about in work.data['shares']}
    for about in work.data['snapshots']:
        work.service.driver.delete_snapshot(values.Snapshot(
            about['id'], moved[about['share']], about['size'], provider_location=about['provider_location']))
    for share in moved.values():
        work.service.driver.delete_share(share)


PLANS = [
    Plan('share_server.migration_check', (Step(check),), steps.checked, steps.not_checked),
    Plan(server_migration_queries.KIND,
         (Step(reserve, release), Step(freeze, thaw), Step(start, cancel), Step(copy), Step(wait),
                                  Step(cut_over)), moved_over, ended_badly),
    Plan(server_migration_queries.RULES, (Step(apply_rules),), applied, not_applied),
    Plan(server_migration_queries.RELEASE, (Step(throw_away), Step(share_servers.teardown), Step(share_servers.free)),
         share_servers.removed, share_servers.not_removed),
]

