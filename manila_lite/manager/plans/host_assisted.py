# SPDX-License-Identifier: Apache-2.0
"""Migration of a share by this host, the destination's, between backends of any drivers: it mounts both sides and copies.

The life cycle is that of ``migration.py``: ``calls`` is what it calls in place of a driver. The copy itself is in
``host_copy.py``.
"""

from typing import Any

from oslo_log import log

from manila_lite import values
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import messages, share_server_migration, shares
from manila_lite.engine import Work
from manila_lite.manager.plans import copied_snapshots, host_access, host_copy, poll_backoff
from manila_lite.manager.plans.host_access import ShareCopy
from manila_lite.manager.plans.migration import DriverCalls
from manila_lite.operation_data.migrations import MigrateShare

LOG = log.getLogger(__name__)


def calls(work: Work[MigrateShare]) -> DriverCalls:
    """Return the methods that the steps of a migration call in place of those of a driver."""
    return DriverCalls.of_host(
        work,
        check=_support,
        start=_start,
        carry_on=_carry_on,
        progress=_progress,
        complete=_complete,
        cancel=_cancel,
        catch_up=_catch_up,
    )


def _copy(work: Work[MigrateShare], migration: values.ShareMigration) -> ShareCopy:
    return ShareCopy(
        work, migration, work.data, work.resource_id, work.data.target, work.ctx.project_id or ''
    )


def _support(work: Work[MigrateShare], migration: values.ShareMigration) -> values.MigrationSupport:
    copy = _copy(work, migration)
    return support(work, copied_objection(copy) or copy.moves.mount_objection(migration.source))


def copied_objection(copy: ShareCopy) -> str:
    """Return why this host cannot copy the share and its snapshots, or ''."""
    return copy.moves.objection(copy.migration.source) or copied_snapshots.objection(copy)


def support(work: Work[Any], reason: str) -> values.MigrationSupport:
    """Return the abilities of this host. ``reason``: why it cannot copy, or ''."""
    return values.MigrationSupport(
        not reason,
        writable=work.service.section.migration_keep_writable,
        preserve_snapshots=True,
        migration_cancel=True,
        migration_get_progress=True,
        reason=reason,
    )


def _start(work: Work[MigrateShare], migration: values.ShareMigration) -> None:
    """Create the target, which is empty and admits nobody but this host."""
    host_access.admit_here(_copy(work, migration))


def _carry_on(work: Work[MigrateShare], migration: values.ShareMigration) -> bool:
    """Copy the snapshots, then the share in passes. Return whether the last one was short, or there were enough."""
    run = host_copy.advance(_copy(work, migration))
    if run is None:
        return False
    near = host_copy.is_near(work, run.took)
    if not near and not host_copy.are_enough(work):
        work.service.moves.forget(migration.id)
        poll_backoff.begin_anew(work)
        return False
    work.service.moves.clear(migration.id)  # nothing stays mounted while an operator thinks
    poll_backoff.begin_anew(work)
    if not near:
        host_copy.warn(work, run.took, 'SHARE', messages.Action.MIGRATE_SHARE)
    return True


def _progress(work: Work[MigrateShare], migration: values.ShareMigration) -> values.MigrationProgress:
    """Return the progress of the first pass."""
    return work.data.figures


def _catch_up(work: Work[MigrateShare], migration: values.ShareMigration) -> None:
    """Copy the last changes, check the copy, and admit clients to it."""
    copy = _copy(work, migration)
    host_copy.catch_up(copy, work.service.section.migration_driver_continue_update_interval)
    host_copy.serve(copy)


def _complete(work: Work[MigrateShare], migration: values.ShareMigration) -> values.MigratedShare:
    """Return where the share is now: the target serves already."""
    copy = _copy(work, migration)
    return values.MigratedShare(copy.target.export_locations, copy.data.snapshots_taken)


def _cancel(work: Work[MigrateShare], migration: values.ShareMigration) -> None:
    """Stop the copy, and delete the target. The source is told when its own rules are applied anew."""
    work.service.moves.clear(migration.id)
    with work.writer() as conn:
        shares.update_instance(conn, migration.id, copy_client=None, copy_client_key=None)
    copied_snapshots.delete(work.service.driver, migration.snapshots, {migration.source.id: migration.target})
    work.service.driver.delete_share(migration.target)


# Remains ----------------------------------------------------------------------------------------------


def clean(service: Any) -> None:
    """End copies on this host that no migration needs any more, and unmount what they left."""
    for target in sorted(service.moves.left()):
        with service.services.db.reader() as conn:
            if _is_needed(conn, service.host, target):
                continue
        LOG.warning('Migration %s: the rest of an abandoned copy is removed', target)
        _clear(service, target)


def _is_needed(conn: Connection, host: str, copy_id: str) -> bool:
    """Say whether a share that moves here by itself, or with its share server, is being copied under this id."""
    return any(
        row.status == 'migrating_to' for row in shares.list_second_instances(conn, instance_id=copy_id)
    ) or (share_server_migration.moves_to(conn, copy_id, host))


def leave(service: Any) -> None:
    """Unmount everything of copies on this host, since another one goes on with them."""
    for target in sorted(service.moves.left()):
        _clear(service, target)


def _clear(service: Any, target: str) -> None:
    try:
        service.moves.clear(target)
    except Exception:
        LOG.exception('Migration %s: something is left of a copy', target)
