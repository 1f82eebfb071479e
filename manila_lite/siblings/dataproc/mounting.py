# SPDX-License-Identifier: Apache-2.0
"""Steps of a cluster's plan for shares on nodes. A share is unmounted before its access rule is released, and mounted
when all rules are in force.
"""

import datetime
import functools
from typing import Any

from oslo_utils import uuidutils

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings import grants, shares
from manila_lite.siblings.dataproc import looks, notifications, paths, states, steps, validation
from manila_lite.siblings.dataproc.db import store
from manila_lite.siblings.dataproc.interface import Busy, Mount, NodeAway
from manila_lite.siblings.work import Work

_MOUNTING, _UNMOUNTED = states.MOUNT['mount'].during, states.MOUNT['unmount'].during
_READY, _LEAVING = states.NODE['spawn'].ok, states.NODE['leave'].during


def _as_mount(row: Any) -> Mount:
    return Mount(row.share_id, row.export or '', row.path, row.level)


# Unmounting -------------------------------------------------------------------------------------


def unmount(work: Work) -> None:
    """Unmount shares that are no longer wanted on a node, or wanted at another path or level. The row says why one stays."""
    with work.writer() as conn:
        going = _unwanted(conn, work)
        for mount in going:
            transitions.begin(
                conn,
                states.MOUNT,
                'unmount',
                mount.id,
                **({} if mount.state == _UNMOUNTED else {'attempts': 0}),
            )
    nodes = steps.mounts_by_node(work, _UNMOUNTED)
    steps.for_each(work, nodes, lambda one: _unmount(work, *one))


def _unwanted(conn: Connection, work: Work) -> list[Any]:
    wanted = _wanted(conn, work)
    return [
        mount
        for mount in store.mounts(conn, (work.resource_id,))
        if wanted.get((mount.instance_id, mount.share_id)) != (mount.path, mount.level)
    ]


def _wanted(conn: Connection, work: Work) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the wanted mounts: path and level, by node and share."""
    row = store.find_cluster(conn, work.resource_id)
    if row is None or row.status == states.CLUSTER['delete'].during:
        return {}
    groups = {
        group.id: validation.effective(row.shares, group.shares)
        for group in store.groups(conn, 'cluster_id', (row.id,)).get(row.id, [])
    }
    return {
        (node.id, share['id']): (share['path'], share['access_level'])
        for node in store.instances(conn, (row.id,))
        if node.state != _LEAVING
        for share in groups.get(node.node_group_id, [])
    }


def _unmount(work: Work, node: Any, mounts: list[Any]) -> float | None:
    with work.ctx.db.reader() as conn:
        cluster = store.find_cluster(conn, work.resource_id)
    leaving = node.state == _LEAVING
    try:
        with work.service.infra.connect(steps.node_of(node)) as remote:
            for mount in mounts:
                _unmount_one(work, cluster, remote, mount, leaving)
    except (NodeAway, errors.Again, errors.Final) as away:
        return _retry_unmount(work, cluster, mounts, leaving, away)
    return None


def _retry_unmount(
    work: Work, cluster: Any, mounts: list[Any], leaving: bool, away: errors.ManilaLiteError
) -> float | None:
    """Plan another try for the node. After too many tries, forget the mounts of a leaving node, and fail those of others."""
    again = False
    for mount in _in_state(work, mounts, _UNMOUNTED):
        if steps.try_again(work, mount, str(away)):
            again = True
        elif leaving:
            _unmounted(work, cluster, mount, f'The node did not answer: {away}')
        else:
            steps.fail_mount(work, cluster, mount, 'unmount', str(away))
    return getattr(away, 'after', work.service.conf.retry_delay) if again else None


def _in_state(work: Work, mounts: list[Any], state: str) -> list[Any]:
    """Return those of the mounts that still have this state."""
    mount_ids = {mount.id for mount in mounts}
    with work.ctx.db.reader() as conn:
        return [
            mount
            for mount in store.mounts(conn, (work.resource_id,))
            if mount.id in mount_ids and mount.state == state
        ]


def _unmount_one(work: Work, cluster: Any, remote: Any, mount: Any, leaving: bool) -> None:
    handler = work.service.handlers.get(mount.protocol or '')
    try:
        note = handler.unmount(remote, _as_mount(mount), force=leaving) if handler and mount.export else ''
    except (Busy, errors.Final) as stays:
        why = str(stays)
        if mount.fault == why:  # each look tries once more; the cause was sent before
            steps.write(work, lambda conn: transitions.fail(conn, states.MOUNT, 'unmount', mount.id))
        else:
            steps.fail_mount(work, cluster, mount, 'unmount', why)
        return
    _unmounted(work, cluster, mount, note)


def _unmounted(work: Work, cluster: Any, mount: Any, note: str) -> None:
    steps.write(work, lambda conn: transitions.finish(conn, states.MOUNT, 'unmount', mount.id))
    notifications.emit_mount(work, cluster, mount, 'share_unmount.end', note or None)


def release(work: Work) -> None:
    """Release access rules that no mount of the cluster needs. Rules that others use stay."""
    with work.ctx.db.reader() as conn:
        idle = [
            grant_id
            for grant_id in store.grants_of(conn, _grant_user(work))
            if not store.levels_of_grant(conn, grant_id)
        ]
    steps.for_each(work, idle, lambda grant_id: _release(work, grant_id))


def _grant_user(work: Work) -> str:
    return f'cluster {work.resource_id}'


def _release(work: Work, grant_id: str) -> float | None:
    try:
        work.service.grants.release(grant_id)
    except errors.Again as later:
        return later.after
    except errors.Unavailable:
        delay: float = work.service.conf.retry_delay
        return delay  # an access rule is never dropped silently
    return None


# Mounting ---------------------------------------------------------------------------------------


def prepare(work: Work) -> None:
    """Prepare a row for every share on every node that answers, with a claimed access rule, protocol and export
    location. Mounts that a node has lost, or whose access rule is gone, are to be mounted again.
    """
    if steps.living_cluster(work) is None:
        return
    looks.find_lost(work)
    with work.writer() as conn:
        _add_missing(conn, work)
    mounts = [mount for _, rows in steps.mounts_by_node(work, _MOUNTING) for mount in rows]
    if mounts:
        steps.show_progress(work, 'prepare', len(mounts))
    for share_id in sorted({mount.share_id for mount in mounts}):
        _describe(work, [mount for mount in mounts if mount.share_id == share_id])


def _add_missing(conn: Connection, work: Work) -> None:
    there = {(mount.instance_id, mount.share_id): mount for mount in store.mounts(conn, (work.resource_id,))}
    wanted = _wanted(conn, work)
    for node in store.instances(conn, (work.resource_id,)):
        if node.state != _READY:
            continue
        for (instance_id, share_id), (path, level) in wanted.items():
            if instance_id != node.id:
                continue
            mount = there.get((instance_id, share_id))
            if mount is None:
                _insert(conn, work, node, share_id, path, level)
            elif mount.state in ('error', 'error_unmounting') and (mount.path, mount.level) == (path, level):
                looks.mount_again(conn, mount)


def _insert(conn: Connection, work: Work, node: Any, share_id: str, path: str, level: str) -> None:
    grant = work.service.grants.claim(
        conn,
        grants.Target(share_id, 'ip', node.internal_ip, level),
        host=work.service.host,
        on=_grant_user(work),
    )
    transitions.create(
        conn,
        states.MOUNT,
        {
            'id': uuidutils.generate_uuid(),
            'instance_id': node.id,
            'share_id': share_id,
            'path': path,
            'level': level,
            'grant_id': grant,
            'attempts': 0,
        },
        'mount',
    )


def _since(work: Work) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(work.data['since'], datetime.UTC).replace(tzinfo=None)


def _describe(work: Work, mounts: list[Any]) -> None:
    with work.ctx.db.reader() as conn:
        cluster = store.find_cluster(conn, work.resource_id)
    assert cluster is not None  # its mounts are
    known = cluster.known_shares.get(mounts[0].share_id)
    if known is None or known['protocol'] not in work.service.handlers:
        _fail_all(work, mounts, 'The share cannot be mounted here. Name it once more.')
        return
    export = _export(work, mounts[0].share_id, known['export'])
    for mount in mounts:
        values = {'protocol': known['protocol'], 'export': export}
        if values != {'protocol': mount.protocol, 'export': mount.export}:
            steps.write(work, functools.partial(store.update_mount, mount_id=mount.id, **values))


def _export(work: Work, share_id: str, known: str) -> str:
    """Return the export location of the share: the share service's present one, or, if it does not tell us, the known one."""
    try:
        exports = work.service.shares.exports(None, share_id)
    except (errors.Forbidden, errors.NotFound, errors.Unavailable):
        return known
    return shares.preferred(exports, known) or known


def _fail_all(work: Work, mounts: list[Any], why: str) -> None:
    with work.ctx.db.reader() as conn:
        cluster = store.find_cluster(conn, work.resource_id)
    for mount in mounts:
        steps.fail_mount(work, cluster, mount, 'mount', why)


def grant(work: Work) -> None:
    """Put the access rules of all mounts in force. The row of a mount says why its rule is not."""
    mounts = [mount for _, rows in steps.mounts_by_node(work, _MOUNTING) for mount in rows]
    if steps.living_cluster(work) is not None and mounts:
        steps.show_progress(work, 'configure', len(mounts))
        steps.for_each(work, mounts, lambda mount: _grant(work, mount))


def _grant(work: Work, mount: Any) -> float | None:
    try:
        with grants.retry_until(_since(work), work.service.conf.share_timeout):
            work.service.grants.put_in_force(mount.grant_id)
    except errors.Again as later:
        return later.after
    except errors.Final as never:
        _fail_all(work, [mount], str(never))
    return None


def mount(work: Work) -> None:
    """Mount every share on every node that answers. The row of a mount says why it failed."""
    nodes = steps.mounts_by_node(work, _MOUNTING)
    if steps.living_cluster(work) is not None and nodes:
        steps.show_progress(work, 'begin', len(nodes))
        steps.for_each(work, nodes, lambda one: _mount(work, *one))


def _mount(work: Work, node: Any, mounts: list[Any]) -> float | None:
    with work.ctx.db.reader() as conn:
        cluster = store.find_cluster(conn, work.resource_id)
        stuck = {
            one.path: one.share_id
            for one in store.mounts(conn, (work.resource_id,))
            if one.instance_id == node.id and one.state == states.MOUNT['unmount'].fail
        }
    try:
        with work.service.infra.connect(steps.node_of(node)) as remote:
            for protocol in sorted({mount.protocol for mount in mounts}):
                work.service.handlers[protocol].setup(remote)
            for one in mounts:
                _mount_one(work, cluster, remote, one, stuck)
    except (NodeAway, errors.Again) as away:
        return _retry_mount(work, cluster, mounts, away)
    except errors.Final as never:
        _fail_all(work, _in_state(work, mounts, _MOUNTING), str(never))
    return None


def _mount_one(work: Work, cluster: Any, remote: Any, mount: Any, stuck: dict[str, str]) -> None:
    in_the_way = next(
        (
            share
            for path, share in stuck.items()
            if paths.within(mount.path, path) or paths.within(path, mount.path)
        ),
        None,
    )
    try:
        if in_the_way:
            raise errors.Final(f'Share {in_the_way} is still mounted there.')
        work.service.handlers[mount.protocol].mount(remote, _as_mount(mount))
    except (errors.Final, Busy) as never:
        steps.fail_mount(work, cluster, mount, 'mount', str(never))
        return
    steps.write(work, lambda conn: transitions.finish(conn, states.MOUNT, 'mount', mount.id, fault=None))
    notifications.emit_mount(work, cluster, mount, 'share_mount.end')


def _retry_mount(work: Work, cluster: Any, mounts: list[Any], away: errors.ManilaLiteError) -> float | None:
    again = False
    for mount in _in_state(work, mounts, _MOUNTING):
        if steps.try_again(work, mount, str(away)):
            again = True
        else:
            steps.fail_mount(work, cluster, mount, 'mount', str(away))
    return getattr(away, 'after', work.service.conf.retry_delay) if again else None
