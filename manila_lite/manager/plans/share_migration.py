# SPDX-License-Identifier: Apache-2.0
"""Migration of a share to this backend: the adapter of ``migration.py`` for shares.

The target is a second instance of the share, which is kept aside until the cut-over. At the end the two instances change
places, and an operation of its own deletes the former one at the source's backend (``migration_source.py``).
"""

import dataclasses
from typing import Any

from oslo_concurrency import lockutils
from oslo_utils import timeutils

from manila_lite import errors, states, values
from manila_lite.db.core import key_values, transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import access, server_migration, share_migration, shares
from manila_lite.db.queries import operations as rows
from manila_lite.engine import Plan, Step, Wake, Work
from manila_lite.manager.plans import former_exports, host_assisted, migration_source, share_servers
from manila_lite.manager.plans.migration import DriverCalls, Steps
from manila_lite.manager.plans.share_server_values import load
from manila_lite.manager.plans.task import as_share, share_row
from manila_lite.operation_data.left_copies import ClearShare
from manila_lite.operation_data.migrations import MigrateShare, MovedShare
from manila_lite.states import Migration
from manila_lite.workflow import share_migration as share_migration_workflow
from manila_lite.workflow import snapshot_access
from manila_lite.workflow.access import apply_rules
from manila_lite.workflow.migration import Phase
from manila_lite.workflow.share_migration import SHARES


class ShareSteps(Steps[MigrateShare]):
    """Migrations of shares to this backend."""

    migrations = SHARES
    ability = values.Ability.MIGRATE_SHARE
    refusal = 'The driver of the backend does not support the migration of single shares to it.'
    interval_option = 'migration_driver_continue_update_interval'

    def driver_calls(self, work: Work[Any]) -> DriverCalls:
        """Return the driver's methods."""
        driver = work.service.driver
        return DriverCalls(
            check=driver.share_migration_check_compatibility,
            start=driver.share_migration_start,
            carry_on=driver.share_migration_continue,
            progress=driver.share_migration_get_progress,
            complete=driver.share_migration_complete,
            cancel=driver.share_migration_cancel,
        )

    def host_calls(self, work: Work[Any]) -> DriverCalls:
        """Return the methods of this host."""
        return host_assisted.calls(work)

    def migration(self, work: Work[MigrateShare], *, planned: bool = False) -> values.ShareMigration:
        """Return the migration as it is now."""
        with work.ctx.db.reader() as conn:
            row = share_row(conn, work)
            source = as_share(conn, row)
            target = _planned(conn, work, source) if planned else as_share(conn, _target_row(conn, work))
            rules = access.granted_rules(conn, (row.id,), cast=False).get(row.id, ())
            moving = share_migration.snapshots_of(conn, row.id)
        return values.ShareMigration(
            source,
            work.data.source_host,
            target,
            tuple(
                values.Snapshot(
                    snapshot.id, source, snapshot.size, provider_location=snapshot.provider_location
                )
                for snapshot in moving
            ),
            tuple(rules),
            **work.data.options,
        )

    def task_state(self, conn: Connection, work: Work[MigrateShare]) -> str | None:
        """Return the task state of the share."""
        state: str | None = share_row(conn, work).task_state
        return state

    def provide(self, work: Work[MigrateShare]) -> None:
        """Give the target a share server, if it is to be in a share network."""
        self.enter(work, Migration.IN_PROGRESS)
        if work.data.network_id:
            share_servers.serve(work, _target_row)

    def apply_rules(self, conn: Connection, work: Work[MigrateShare], *, readonly: bool) -> Wake:
        """Have the source's backend apply the rules of the share."""
        access.lock(conn, work.resource_id)
        work.hold(conn)
        return SHARES.apply_rules(conn, work.ctx, work.resource_id, work.data, readonly=readonly)

    def lock(self, target: str) -> Any:
        """Return the lock of the second instance."""
        return lockutils.lock(f'share-migration-{target}')

    def noted(self, work: Work[ClearShare]) -> values.ShareMigration:
        """Return the migration that the note is about. The share may have changed since."""
        data = work.data
        with work.ctx.db.reader() as conn:
            server = load(conn, (data.server,)).get(data.server) if data.server else None
        target = dataclasses.replace(data.share, server=server)
        source = dataclasses.replace(target, id=data.source, pool=data.source_pool, server=None)
        return values.ShareMigration(
            source,
            data.source_host,
            target,
            tuple(snapshot.of(source) for snapshot in data.snapshots),
            **data.options,
        )

    def check_cut_over(self, work: Work[MigrateShare]) -> None:
        """Refuse the cut-over of a share whose status was reset."""
        with work.ctx.db.reader() as conn:
            status = share_row(conn, work).status
        if status != states.SHARE['migrate'].during:
            raise errors.Final(
                f'The migration of share {work.resource_id} was stopped: its status is {status}.'
            )

    def keep(
        self, work: Work[MigrateShare], migration: values.ShareMigration, moved: values.MigratedShare
    ) -> None:
        """Keep where the share and its snapshots are now."""
        if not moved or not moved.export_locations:
            raise errors.ManilaLiteError('The backend did not report where the share is now.')
        work.data.moved = MovedShare(
            exports=list(moved.export_locations), provider_locations=dict(moved.provider_locations)
        )

    def begin_to_close(self, conn: Connection, work: Work[MigrateShare]) -> Wake:
        """Have the source's backend end the exports of the share."""
        instance = share_row(conn, work).instance_id
        return former_exports.begin_share(conn, work.ctx, work.resource_id, work.data.source_host, instance)

    def finish(self, conn: Connection, work: Work[MigrateShare]) -> None:
        """Make the second instance the share's instance, and begin to delete the other at the source's backend."""
        share_id, data = work.resource_id, work.data
        access.lock(conn, share_id)
        # The source's backend applies no rules any more; the target's applies all rules once more, below.
        rows.supersede(conn, share_id, (access.SYNC,))
        source, target = share_row(conn, work), _target_row(conn, work)
        left = share_migration_workflow.what_is_left(
            source, target.host, share_migration.snapshots_of(conn, share_id)
        )
        SHARES.settle(conn, work, SHARES.migrate_verb, ok=True)
        _change_places(conn, work, source, target)
        shares.update(conn, share_id, **data.abilities)
        state = former_exports.end(
            conn, work, share_migration.CLOSE, {share_id: source.project_id}, left, share_id
        )
        transitions.swap_share_task_state(conn, share_id, (None, *Migration), state)
        apply_rules(conn, work.ctx, share_id, target.host)
        snapshot_access.begin_all(conn, work.ctx, (share_id,), target.host, moved=True)
        for row in shares.list_second_instances(conn, instance_id=source.instance_id):
            share_migration_workflow.begin_release(conn, work.ctx, row, left)
        SHARES.announce_end(work, Phase.COMPLETE)
        work.service.report_soon()


def _target_row(conn: Connection, work: Work[MigrateShare]) -> Any:
    instances = shares.list_second_instances(conn, instance_id=work.data.target)
    if not instances:
        raise errors.Final(f'Share instance {work.data.target} is gone.')
    return instances[0]


def _planned(conn: Connection, work: Work[MigrateShare], source: values.Share) -> values.Share:
    """Return the target as it would be."""
    data = work.data
    return dataclasses.replace(
        source,
        id=data.target,
        pool=data.pool,
        server=None,
        share_network_id=data.network_id,
        export_locations=(),
        extra_specs=key_values.of(conn, share_type_extra_specs, data.type_id),
    )


def _change_places(conn: Connection, work: Work[MigrateShare], source: Any, target: Any) -> None:
    """Put the second instance, a row, in the place of the first."""
    transitions.finish(conn, states.SHARE, 'receive', target.instance_id)
    share_migration.place(conn, source.instance_id, aside=True, cast_rules_to_readonly=False)
    share_migration.place(
        conn,
        target.instance_id,
        aside=False,
        copier=None,
        copier_key=None,
        progress=source.progress,
        launched_at=timeutils.utcnow(),
        access_rules_status=source.access_rules_status,
    )
    if work.data.abilities.get('replication_type'):
        transitions.set_replica_state(conn, target.instance_id, states.Replica.ACTIVE)
    shares.set_export_locations(conn, target.instance_id, work.data.moved.exports)
    server_migration.set_provider_locations(conn, work.data.moved.provider_locations)


STEPS = ShareSteps()
PLANS: list[Plan[Any]] = [
    *STEPS.plans(Step(STEPS.provide)),
    Plan(
        SHARES.clear_kind,
        (Step(STEPS.clear),),
        migration_source.deleted,
        migration_source.not_deleted,
        data=ClearShare,
    ),
]
