# SPDX-License-Identifier: Apache-2.0
"""Migration of a share to this backend: the adapter of ``migration.py`` for shares.

The target is a second instance of the share, which is kept aside until the cut-over. At the end the two instances change
places, and an operation of its own deletes the former one at the source's backend (``migration_source.py``).
"""

import dataclasses
from typing import Any

from oslo_concurrency import lockutils

from manila_lite import errors, values
from manila_lite.db.core import key_values
from manila_lite.db.core.engine import Connection
from manila_lite.db.models import share_type_extra_specs
from manila_lite.db.queries import access, share_migration
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import host_assisted, migration_source, share_servers
from manila_lite.manager.plans.migration import DriverCalls, Steps
from manila_lite.manager.plans.share_server_values import load
from manila_lite.manager.plans.task import as_share
from manila_lite.operation_data.left_copies import ClearShare
from manila_lite.operation_data.migrations import MigrateShare, MovedShare
from manila_lite.states import Migration
from manila_lite.workflow.share_migration import SHARES, second_instance
from manila_lite.workflow.verbs import share_row


def driver_calls(work: Work[Any]) -> DriverCalls:
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


def load_migration(work: Work[MigrateShare], planned: bool) -> values.ShareMigration:
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
            values.Snapshot(snapshot.id, source, snapshot.size, provider_location=snapshot.provider_location)
            for snapshot in moving
        ),
        tuple(rules),
        **work.data.options,
    )


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


def _target_row(conn: Connection, work: Work[MigrateShare]) -> Any:
    return second_instance(conn, work.data.target)


def noted(work: Work[ClearShare]) -> values.ShareMigration:
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


def keep(work: Work[MigrateShare], migration: values.ShareMigration, moved: values.MigratedShare) -> None:
    """Keep where the share and its snapshots are now."""
    if not moved or not moved.export_locations:
        raise errors.ManilaLiteError('The backend did not report where the share is now.')
    work.data.moved = MovedShare(
        exports=list(moved.export_locations), provider_locations=dict(moved.provider_locations)
    )


STEPS = Steps(
    SHARES,
    ability=values.Ability.MIGRATE_SHARE,
    refusal='The driver of the backend does not support the migration of single shares to it.',
    interval_option='migration_driver_continue_update_interval',
    lock=lambda target: lockutils.lock(f'share-migration-{target}'),
    driver_calls=driver_calls,
    host_calls=host_assisted.calls,
    load=load_migration,
    noted=noted,
    keep=keep,
)


def provide(work: Work[MigrateShare]) -> None:
    """Give the target a share server, if it is to be in a share network."""
    STEPS.enter(work, Migration.IN_PROGRESS)
    if work.data.network_id:
        share_servers.serve(work, _target_row)


PLANS: list[Plan[Any]] = [
    *STEPS.plans(Step(provide)),
    Plan(
        SHARES.clear_kind,
        (Step(STEPS.clear),),
        migration_source.deleted,
        migration_source.not_deleted,
        data=ClearShare,
    ),
]
