# SPDX-License-Identifier: Apache-2.0
"""Functions that the steps of a cluster's plan share: its row, its progress, and work on many nodes at a time."""

import concurrent.futures
from collections.abc import Callable, Iterable
from typing import Any

from oslo_utils import timeutils

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.dataproc import notifications, states
from manila_lite.siblings.dataproc.db import store
from manila_lite.siblings.dataproc.interface import Node
from manila_lite.siblings.work import Work

_UNDER_WAY = states.CLUSTER['spawn'].allowed


def living_cluster(work: Work) -> Any:
    """Return the row of the cluster, or None if it is deleted or being deleted: then its nodes get no more shares."""
    with work.ctx.db.reader() as conn:
        row = store.find_cluster(conn, work.resource_id)
    return None if row is None or row.status == states.CLUSTER['delete'].during else row


def show_progress(work: Work, verb: str, total: int) -> None:
    """Show a step in the cluster's progress, for ``total`` nodes or mounts, and in its status while the cluster is
    being changed.
    """
    with work.writer() as conn:
        row = store.find_cluster(conn, work.resource_id)
        if row is None:
            return
        store.update(conn, 'cluster', row.id, {'progress': _step(row, verb, total)})
        to = states.CLUSTER[verb].during
        if row.status in _UNDER_WAY and row.status != to:
            transitions.begin(conn, states.CLUSTER, verb, row.id)
            notifications.emit_cluster(work, row, 'update', to)


def _step(row: Any, verb: str, total: int) -> list[dict[str, Any]]:
    now = timeutils.utcnow().isoformat(timespec='microseconds')
    before = ended([step for step in row.progress if step['step_name'] != verb], successful=True)
    return [
        *before,
        {
            'step_name': verb,
            'step_type': 'shares',
            'cluster_id': row.id,
            'total': total,
            'completed': 0,
            'successful': None,
            'created_at': now,
            'updated_at': now,
            'events': [],
        },
    ]


def ended(progress: list[dict[str, Any]], *, successful: bool) -> list[dict[str, Any]]:
    """Return the steps as ended. ``successful`` is about the last step."""
    return [
        step | {'successful': successful or number < len(progress) - 1, 'completed': step['total']}
        if step['successful'] is None
        else step
        for number, step in enumerate(progress)
    ]


def node_of(row: Any) -> Node:
    """Return a node's row as the ``Node`` that infrastructures use."""
    return Node(
        row.infra_ref,
        row.name,
        row.internal_ip,
        row.ssh_port or 22,
        row.ssh_user or 'root',
        row.host_key or '',
        row.key_file or '',
    )


def for_each(work: Work, items: Iterable[Any], do: Callable[[Any], float | None]) -> None:
    """Call ``do`` for each item, some at a time.

    :raises errors.Again: some returned the seconds until their next try. An error of ``do`` is raised, too.
    """
    todo = list(items)
    if not todo:
        return
    with concurrent.futures.ThreadPoolExecutor(min(work.service.conf.parallel, len(todo))) as pool:
        waits = [seconds for seconds in pool.map(do, todo) if seconds is not None]
    if waits:
        raise errors.Again(min(waits))


def write(work: Work, do: Callable[[Connection], Any]) -> None:
    """Call ``do`` in a transaction, while the operation is ours."""
    with work.writer() as conn:
        do(conn)


def fail_mount(work: Work, cluster: Any, mount: Any, verb: str, why: str) -> None:
    """Record in the mount's row why it is not mounted, or not unmounted."""
    write(work, lambda conn: transitions.fail(conn, states.MOUNT, verb, mount.id, fault=why))
    notifications.emit_mount(work, cluster, mount, f'share_{verb}.error', why)


def try_again(work: Work, mount: Any, why: str) -> bool:
    """Count a try with a node that did not answer, and show why it failed. Return whether there are tries left."""
    if mount.attempts + 1 >= work.service.conf.attempts:
        return False
    write(work, lambda conn: store.update_mount(conn, mount.id, attempts=mount.attempts + 1, fault=why))
    return True


def nodes_in_state(work: Work, *wanted: str) -> list[Any]:
    """Return the cluster's nodes in one of these states."""
    with work.ctx.db.reader() as conn:
        return [row for row in store.instances(conn, (work.resource_id,)) if row.state in wanted]


def mounts_by_node(work: Work, *wanted: str | None) -> list[tuple[Any, list[Any]]]:
    """Return the cluster's nodes with mounts in one of these states, each with these mounts."""
    with work.ctx.db.reader() as conn:
        rows = {row.id: row for row in store.instances(conn, (work.resource_id,))}
        mounts_of: dict[str, list[Any]] = {}
        for mount in store.mounts(conn, (work.resource_id,)):
            if mount.state in wanted:
                mounts_of.setdefault(mount.instance_id, []).append(mount)
    return [(rows[instance_id], mounts) for instance_id, mounts in mounts_of.items()]
