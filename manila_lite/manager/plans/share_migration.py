# SPDX-License-Identifier: Apache-2.0
"""Migration of a share to this backend: first its data, while clients work; then, at an operator's request, its clients.

It works as ``server_migration.py`` does, with a second instance of the share in the place of a second server. Up to
``wait`` every step can be undone; after it comes the cut-over, which can only be repeated. At the end the two instances
change places, and an operation of its own deletes the share at the source's backend.
"""

import dataclasses
from typing import Any

from oslo_utils import timeutils

from manila_lite import errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import access, server_migration, share_migration, share_server_queries, shares
from manila_lite.db.queries import operations as rows
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import migration as migration_plans
from manila_lite.manager.plans import share_servers
from manila_lite.manager.plans.share_server_values import load
from manila_lite.manager.plans.task import as_share, plain, share_row
from manila_lite.manager.plans.task import notify as tell_owner
from manila_lite.states import Migration
from manila_lite.workflow import share_migration as ends
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.access import tell_rules

# Values for drivers ---------------------------------------------------------------------------------

def _target_row(conn: Connection, work: Work) -> Any:
    found = shares.list_second_instances(conn, instance_id=work.data['target'])
    if not found:
        raise errors.Final(f'Share instance {work.data["target"]} is gone.')
    return found[0]


def _migration(work: Work, *, planned: bool = False) -> values.ShareMigration:
    """Return the migration as it is now. ``planned``: there is no second instance yet."""
    with work.ctx.db.reader() as conn:
        row = share_row(conn, work)
        source = as_share(conn, row)
        target = _planned(conn, work, source) if planned else as_share(conn, _target_row(conn, work))
        rules = access.granted_rules(conn, (row.id,), cast=False).get(row.id, ())
        taken = share_migration.snapshots_of(conn, row.id)
    return values.ShareMigration(
        source, work.data['from'], target, tuple(values.Snapshot(
            found.id, source, found.size, provider_location=found.provider_location) for found in taken),
        tuple(rules), **work.data['options'])


def _planned(conn: Connection, work: Work, source: values.Share) -> values.Share:
    data = work.data
    return dataclasses.replace(
        source, id=data['target'], pool=data['pool'], server=None, share_network_id=data['network_id'], export_locations=(),
        extra_specs=key_values.of(conn, share_type_extra_specs, data['type_id']))


# Check ----------------------------------------------------------------------------------------------

def check(work: Work) -> None:
    """Store the backend's answer in ``data['support']``."""
    if values.Ability.MIGRATE_SHARE not in abilities_of(work.service.driver):
        support = values.MigrationSupport(False, reason='The driver of the backend does not take single shares in.')
    else:
        support = work.service.driver.share_migration_check_compatibility(_migration(work, planned=True))
    work.data['support'] = dataclasses.asdict(support)


# Phase one: can be repeated and undone --------------------------------------------------------------

def _task_state(conn: Connection, work: Work) -> str | None:
    state: str | None = share_row(conn, work).task_state
    return state


def _enter(work: Work, state: Migration, unless: Migration | None = None) -> bool:
    return migration_plans.enter(work, transitions.share_task, _task_state, state, unless)


def provide(work: Work) -> None:
    """Give the target a share server, if it is to be in a share network."""
    _enter(work, Migration.IN_PROGRESS)
    if work.data['network_id']:
        share_servers.serve(work, _target_row)


def freeze(work: Work) -> None:
    """Make the source's access rules read-only, where the backend cannot copy otherwise.

    :raises errors.Again: the source's backend was told, and has not done it yet.
    """
    _enter(work, Migration.IN_PROGRESS)
    if not work.data['freeze']:
        return
    if not work.data.get('frozen'):
        with work.ctx.db.writer() as conn:
            access.lock(conn, work.resource_id)
            work.hold(conn)
            wake = tell_rules(conn, work.ctx, work.resource_id, work.data['from'], {work.data['instance']: True})
        work.data['frozen'] = wake.operation_id
        wake.send(work.ctx)
    migration_plans.answered(work, work.data['frozen'], 'The backend of the share could not make its access rules read-only.')


def start(work: Work) -> None:
    """Have the backend begin to copy."""
    _enter(work, Migration.DRIVER_STARTING)
    work.service.driver.share_migration_start(_migration(work))


def cancel(work: Work) -> None:
    """Delete the copy at the backend."""
    if work.data.get('cut'):
        return
    work.data['left'] = True
    work.service.driver.share_migration_cancel(_migration(work))
    work.data['left'] = False


def copy(work: Work) -> None:
    """Continue the copy until it is as near to the source as possible.

    :raises errors.Again: it is not yet; ``data['progress']`` has the progress.
    """
    _enter(work, Migration.COPYING)
    migration = _migration(work)
    finished = migration_plans.is_near(work.service.driver.share_migration_continue(migration))
    work.data['progress'] = dataclasses.asdict(work.service.driver.share_migration_get_progress(migration))
    if not finished:
        raise errors.Again(work.service.section.migration_driver_continue_update_interval)


def wait(work: Work) -> None:
    """Wait until the operator asks for the cut-over, unless it was asked for at the beginning.

    :raises errors.Again: the operator has not decided yet.
    """
    parked = _enter(work, Migration.COPIED, unless=Migration.COMPLETING)
    if not work.data.get('copied'):
        ends.announce(work.ctx, work.resource_id, work.data, f'{ends.COPY}.end', work.op.host)
        work.data['copied'] = True
    if parked and not (work.data.get('by_itself') and _goes_on(work)):
        raise errors.Again(migration_plans.PARKED)
    work.data['cut'] = True


def _goes_on(work: Work) -> bool:
    """Begin the cut-over, unless the migration was cancelled just before. Say whether it begins."""
    with work.ctx.db.writer() as conn:
        work.hold(conn)
        wanted = transitions.share_task(conn, work.resource_id, (Migration.COPIED,), Migration.COMPLETING)
        if wanted:
            ends.announce(work.ctx, work.resource_id, {**work.data, 'cut': True}, f'{ends.COMPLETE}.start', work.op.host)
    return wanted


# Phase two: forward only ----------------------------------------------------------------------------

def cut_over(work: Work) -> None:
    """Move the clients' access from the source to the target."""
    with work.ctx.db.reader() as conn:
        status = share_row(conn, work).status
    if status != states.SHARE['migrate'].during:
        raise errors.Final(f'The migration of share {work.resource_id} was stopped: its status is {status}.')
    moved = work.service.driver.share_migration_complete(_migration(work))
    if not moved or not moved.export_locations:
        raise errors.ManilaLiteError('The backend did not say where the share is now.')
    work.data['moved'] = {'provider_locations': dict(moved.provider_locations),
                          'exports': [plain(location) for location in moved.export_locations]}


def moved_over(conn: Connection, work: Work) -> None:
    """Make the second instance the share's instance, and begin to delete the other at the source's backend."""
    share_id, data = work.resource_id, work.data
    access.lock(conn, share_id)
    # Workers of the source backend tell no rules any more; the target is told all rules once more, below.
    rows.supersede(conn, share_id, (access.SYNC,))
    source, target = share_row(conn, work), _target_row(conn, work)
    left = ends.what_is_left(source, target.host, share_migration.snapshots_of(conn, share_id))
    ends.settle(conn, work, 'migrate', states.SHARE['migrate'].ok or '')
    transitions.finish(conn, states.SHARE, 'receive', target.instance_id)
    share_migration.place(conn, source.instance_id, aside=True, cast_rules_to_readonly=False)
    share_migration.place(conn, target.instance_id, aside=False, progress=source.progress, launched_at=timeutils.utcnow(),
                           access_rules_status=source.access_rules_status)
    if data['abilities'].get('replication_type'):
        transitions.replica_state(conn, target.instance_id, states.Replica.ACTIVE)
    shares.set_export_locations(conn, target.instance_id,
                                [values.ExportLocation(**place) for place in data['moved']['exports']])
    server_migration.set_provider_locations(conn, data['moved']['provider_locations'])
    shares.update(conn, share_id, **data['abilities'])
    transitions.share_task(conn, share_id, (None, *Migration), Migration.SUCCESS)
    tell_rules(conn, work.ctx, share_id, target.host)
    snapshot_access.begin_all(conn, work.ctx, (share_id,), target.host, moved=True)
    for row in shares.list_second_instances(conn, instance_id=source.instance_id):
        ends.begin_release(conn, work.ctx, row, left)
    ends.announce(work.ctx, share_id, data, f'{ends.COMPLETE}.end', work.op.host)
    work.service.report_soon()


def ended_badly(conn: Connection, work: Work, error: Exception) -> None:
    """Restore everything if the cut-over has not begun. Else set share and snapshots to error, for another try."""
    (ends.fail_cutover if work.data.get('cut') else ends.given_up)(conn, work, error)


# At the source backend ------------------------------------------------------------------------------

def throw_away(work: Work) -> None:
    """Delete the share that has moved, and the snapshots that moved with it, at this backend."""
    data = work.data
    with work.ctx.db.reader() as conn:
        server = load(conn, (data['server'],)).get(data['server']) if data['server'] else None
    share = values.Share(**data['share'], server=server)
    for about in data['snapshots']:
        work.service.driver.delete_snapshot(values.Snapshot(
            about['id'], share, about['size'], provider_location=about['provider_location']))
    work.service.driver.delete_share(share)


def thrown_away(conn: Connection, work: Work) -> None:
    """Delete the second instance. The next report no longer counts its capacity."""
    transitions.remove(conn, states.SHARE, (work.data['instance'],), states.SHARE['delete'].during)
    if work.data['server']:
        share_server_queries.update(conn, work.data['server'])
    work.service.report_soon()


def not_thrown_away(conn: Connection, work: Work, error: Exception) -> None:
    """Set the second instance to error, so that it can be deleted again. The share is not affected."""
    transitions.fail(conn, states.SHARE, 'delete', work.data['instance'])
    tell_owner(conn, work, 'SHARE', Action.MIGRATE_SHARE, Detail.UNKNOWN_ERROR, error)


PLANS = [
    Plan(share_migration.CHECK, (Step(check),), migration_plans.checked, migration_plans.not_checked),
    Plan(share_migration.KIND, (Step(provide), Step(freeze), Step(start, cancel), Step(copy), Step(wait), Step(cut_over)),
         moved_over, ended_badly),
    Plan(share_migration.RELEASE, (Step(throw_away),), thrown_away, not_thrown_away),
]
