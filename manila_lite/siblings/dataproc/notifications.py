# SPDX-License-Identifier: Apache-2.0
"""Notifications about clusters."""

from typing import Any

from manila_lite.rpc import notifications
from manila_lite.siblings.work import Work


def emit_cluster(work: Work, row: Any, verb: str, status: str, why: str | None = None) -> None:
    """Send the notification about a cluster's new status: ``sahara.cluster.update``, ``.delete``, ``.error``."""
    event = 'error' if status == 'Error' else verb
    _emit(work, f'sahara.cluster.{event}', row, cluster_status=status, status_description=why)


def emit_mount(work: Work, row: Any, mounted: Any, event: str, why: str | None = None) -> None:
    """Send a notification about a share on a node: ``share_mount.end``, ``share_mount.error``, ``share_unmount.end``, ..."""
    _emit(
        work,
        f'sahara.cluster.{event}',
        row,
        share_id=mounted.share_id,
        instance_id=mounted.instance_id,
        path=mounted.path,
        access_level=mounted.level,
        fault=why,
    )


def _emit(work: Work, event: str, row: Any, **more: Any) -> None:
    notifications.emit(
        work.ctx,
        event,
        {'cluster_id': row.id, 'cluster_name': row.name, **more},
        publisher=f'data-processing.{work.ctx.conf.host}',
    )
