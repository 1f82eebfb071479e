# SPDX-License-Identifier: Apache-2.0
"""Managing and unmanaging of shares and snapshots that exist at the backend."""

from collections.abc import Callable
from typing import Any

from oslo_log import log
from oslo_utils import timeutils

from manila_lite import errors, states, values
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.db.queries import export_locations, quotas, share_server_queries, shares, snapshots
from manila_lite.db.queries.messages import Action, Detail
from manila_lite.drivers.interface import abilities_of
from manila_lite.engine import Plan, Step, Work
from manila_lite.manager.plans import snapshot_access
from manila_lite.manager.plans.task import able_driver, load_share, load_snapshot
from manila_lite.operation_data import OperationData
from manila_lite.operation_data.shares import ManageShare
from manila_lite.operation_data.snapshots import ManageSnapshot
from manila_lite.rpc import notifications
from manila_lite.workflow.verbs import share_instance, snapshot_id, verb_plan

LOG = log.getLogger(__name__)


def _size(resource: Any) -> int:
    size = resource.size
    if not isinstance(size, int) or size < 1:
        raise errors.ManilaLiteError(f'The backend reports an invalid size: {size!r}.')
    return size


def _without_share(
    ability: values.Ability, release: Callable[[Work[Any]], None]
) -> Callable[[Work[Any]], None]:
    """Return ``release`` as an undo that does nothing if the driver lacks the ability."""

    def undo(work: Work[Any]) -> None:
        if ability in abilities_of(work.service.driver):
            release(work)

    return undo


# Shares -------------------------------------------------------------------------------------------


def manage(work: Work[ManageShare]) -> None:
    """Take the share over at the backend, and keep its size and export locations."""
    driver = able_driver(work, values.Ability.MANAGE_SHARES, 'neither manage nor unmanage shares')
    resource = driver.manage_share(load_share(work), work.data.export_path, work.data.options)
    work.data.size, work.data.exports = _size(resource), list(resource.export_locations)


def managed(conn: Connection, work: Work[ManageShare], instance_id: str) -> dict[str, Any]:
    """Store the share's size and export locations. Being over quota is only logged now."""
    row = shares.find_by_instance(conn, instance_id)
    shares.update(conn, work.resource_id, size=work.data.size)
    export_locations.set_of_instances(conn, {instance_id: work.data.exports})
    if row is not None:
        _mind_quota(conn, work, row, row.share_type_id, {'shares': 0, 'gigabytes': 0}, work.data.size or 0)
    _emit_managed(work, 'manage.end')
    work.service.report_soon()
    return {'progress': '100%', 'launched_at': timeutils.utcnow()}


def _mind_quota(
    conn: Connection,
    work: Work[Any],
    row: Any,
    share_type_id: str | None,
    resources: dict[str, int],
    one_share: int = 0,
) -> None:
    try:
        quotas.check(conn, work.ctx.conf, row.project_id, row.user_id, share_type_id, resources, one_share)
    except errors.OverQuota as over:
        LOG.warning('%s: it is managed now, and the quota is exceeded: %s', work.resource_id, over)


def unmanage(work: Work[Any]) -> None:
    """Let go of the share at the backend, with no access rule in force."""
    able_driver(work, values.Ability.MANAGE_SHARES, 'neither manage nor unmanage shares').unmanage_share(
        load_share(work)
    )


def unmanaged(conn: Connection, work: Work[Any], instance_id: str) -> None:
    """Delete the share's row with its rules, unless an administrator gave it another status meanwhile."""
    row = shares.find_by_instance(conn, instance_id)
    if transitions.remove(conn, states.SHARE, (instance_id,), states.SHARE['unmanage'].during):
        shares.delete(conn, (work.resource_id,))
        if row and row.share_server_id:
            share_server_queries.update(conn, row.share_server_id)
        _emit(work, 'unmanage.end')
    work.service.report_soon()


def _emit_managed(work: Work[ManageShare], event: str) -> None:
    _emit(work, event, work.data.export_path, work.data.size)


def _emit(work: Work[Any], event: str, export_path: str | None = None, size: int | None = None) -> None:
    payload = {'share_id': work.resource_id, 'host': work.op.host, 'export_path': export_path, 'size': size}
    if work.error is not None:
        payload['error'] = errors.reason(work.error, work.ctx.request_id)
    notifications.emit(work.ctx, f'share.{event}', payload, work.op.host)


# Snapshots ----------------------------------------------------------------------------------------


def manage_snapshot(work: Work[ManageSnapshot]) -> None:
    """Take the snapshot over at the backend, and keep its size and location."""
    driver = able_driver(work, values.Ability.MANAGE_SNAPSHOTS, 'neither manage nor unmanage snapshots')
    resource = driver.manage_snapshot(load_snapshot(work, work.resource_id), work.data.options)
    work.data.size, work.data.location = _size(resource), resource.provider_location
    snapshot_access.first(work)


def snapshot_managed(conn: Connection, work: Work[ManageSnapshot], snapshot_id: str) -> dict[str, Any]:
    """Store the snapshot's size and export locations. Return its location at the backend."""
    row, share = snapshots.with_share(conn, snapshot_id) or (None, None)
    snapshots.update(conn, snapshot_id, size=work.data.size)
    snapshot_access.first_done(conn, work)
    if row is not None and share is not None:
        _mind_quota(conn, work, row, share.share_type_id, {'snapshots': 0, 'snapshot_gigabytes': 0})
    return {'provider_location': work.data.location, 'progress': '100%'}


def unmanage_snapshot(work: Work[Any]) -> None:
    """Let go of the snapshot at the backend."""
    driver = able_driver(work, values.Ability.MANAGE_SNAPSHOTS, 'neither manage nor unmanage snapshots')
    driver.unmanage_snapshot(load_snapshot(work, work.resource_id))


PLANS: list[Plan[Any]] = [
    verb_plan(
        'share.manage',
        ManageShare,
        states.SHARE,
        'manage',
        Step(manage, _without_share(values.Ability.MANAGE_SHARES, unmanage)),
        on_done=managed,
        on_failed=lambda conn, work, _: _emit_managed(work, 'manage.error'),
        row_id=share_instance,
        action=Action.MANAGE,
        detail=Detail.NOT_MANAGED,
    ),
    verb_plan(
        'share.unmanage',
        OperationData,
        states.SHARE,
        'unmanage',
        Step(unmanage),
        on_done=unmanaged,
        on_failed=lambda conn, work, _: _emit(work, 'unmanage.error'),
        row_id=share_instance,
        action=Action.UNMANAGE,
        detail=Detail.NOT_UNMANAGED,
    ),
    verb_plan(
        'snapshot.manage',
        ManageSnapshot,
        states.SNAPSHOT,
        'manage',
        Step(manage_snapshot, _without_share(values.Ability.MANAGE_SNAPSHOTS, unmanage_snapshot)),
        on_done=snapshot_managed,
        row_id=snapshot_id,
        action=Action.MANAGE,
        detail=Detail.NOT_MANAGED,
    ),
    verb_plan(
        'snapshot.unmanage',
        OperationData,
        states.SNAPSHOT,
        'unmanage',
        Step(unmanage_snapshot),
        row_id=snapshot_id,
        action=Action.UNMANAGE,
        detail=Detail.NOT_UNMANAGED,
    ),
]
