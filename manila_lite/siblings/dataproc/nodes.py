# SPDX-License-Identifier: Apache-2.0
"""Steps of a cluster's plan for its nodes: which nodes it shall have, making them, and releasing them."""

from typing import Any

from oslo_db import exception as oslo_db_exception
from oslo_utils import timeutils, uuidutils

from manila_lite import errors
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.dataproc import states, steps
from manila_lite.siblings.dataproc.db import store
from manila_lite.siblings.dataproc.interface import NodeAway, Wanted
from manila_lite.siblings.work import Work

_SPAWNING, _LEAVING = states.NODE['spawn'].during, states.NODE['leave'].during
_GOING = (_LEAVING, states.NODE['leave'].fail)


def arrange(work: Work) -> None:
    """Make a row for every node that the cluster shall have, with its infrastructure's reference; let the other nodes leave."""
    work.data['since'] = timeutils.utcnow().timestamp()
    going = steps.living_cluster(work) is None
    with work.ctx.db.writer() as conn:
        work.save(conn)
        if store.find_cluster(conn, work.resource_id) is None:
            return
        there = store.instances(conn, (work.resource_id,))
        for group in store.groups(conn, 'cluster_id', (work.resource_id,)).get(work.resource_id, []):
            mine = [node for node in there if node.node_group_id == group.id]
            _resize(conn, work, group, mine, 0 if going else group.count)
    new = [node for node in steps.nodes_in_state(work, _SPAWNING) if node.infra_ref is None]
    if new and not going:
        steps.show_progress(work, 'arrange', len(new))
        for node in new:
            _offer(work, node)


def _resize(conn: Connection, work: Work, group: Any, there: list[Any], count: int) -> None:
    # Of a group that gets smaller, the nodes that failed leave first.
    living = sorted(
        (node for node in there if node.state not in _GOING),
        key=lambda node: node.state == states.NODE['spawn'].fail,
    )
    stay, go = living[:count], [node for node in there if node not in living[:count]]
    for node in go:
        transitions.begin(conn, states.NODE, 'leave', node.id)
    for node in stay:
        if node.state == states.NODE['spawn'].fail:
            transitions.begin(conn, states.NODE, 'again', node.id, fault=None, attempts=0)
    cluster = store.find_cluster(conn, work.resource_id)
    assert cluster is not None  # the caller has looked
    used = {node.name for node in there}
    free = (
        name
        for number in range(1, len(there) + count + 1)
        if (name := f'{cluster.name}-{group.name}-{number:03}') not in used
    )
    for _ in range(count - len(stay)):
        transitions.create(
            conn,
            states.NODE,
            {
                'id': uuidutils.generate_uuid(),
                'node_group_id': group.id,
                'cluster_id': work.resource_id,
                'name': next(free),
                'attempts': 0,
            },
            'spawn',
        )


def _wanted(work: Work, node: Any) -> Wanted:
    with work.ctx.db.reader() as conn:
        cluster = store.find_cluster(conn, work.resource_id)
        group = next(
            group
            for group in store.groups(conn, 'cluster_id', (work.resource_id,))[work.resource_id]
            if group.id == node.node_group_id
        )
    assert cluster is not None  # its groups are
    return Wanted(
        node.id,
        node.name,
        work.resource_id,
        group.name,
        group.flavor_id,
        group.image_id or cluster.default_image_id,
    )


def _offer(work: Work, node: Any) -> None:
    with work.ctx.db.reader() as conn:
        taken = store.taken_references(conn)
    try:
        ref = work.service.infra.offer(_wanted(work, node), taken)
        steps.write(work, lambda conn: store.update_instance(conn, node.id, infra_ref=ref))
    except oslo_db_exception.DBDuplicateEntry:
        raise errors.Again(0.1) from None  # another cluster took the node first
    except errors.Final as none:
        _fail(work, node, str(none))


def _fail(work: Work, node: Any, why: str) -> None:
    steps.write(work, lambda conn: transitions.fail(conn, states.NODE, 'spawn', node.id, fault=why))


def spawn(work: Work) -> None:
    """Make the nodes, and wait until they answer. The row of a node says why it failed."""
    new = [node for node in steps.nodes_in_state(work, _SPAWNING) if node.infra_ref is not None]
    if steps.living_cluster(work) is None or not new:
        return
    steps.show_progress(work, 'wait' if work.data.get('spawned') else 'spawn', len(new))
    work.data['spawned'] = True
    steps.for_each(work, new, lambda node: _spawn(work, node))


def _spawn(work: Work, node: Any) -> float | None:
    late = (timeutils.utcnow().timestamp() - work.data['since']) > work.service.conf.spawn_timeout
    try:
        answering = work.service.infra.ready(node.infra_ref, _wanted(work, node))
        with work.service.infra.connect(answering) as remote:
            for handler in work.service.handlers.values():
                handler.clean(remote)
    except (errors.Again, errors.Unavailable) as later:
        if late:
            _fail(work, node, f'It did not answer in time. {later}')
            return None
        why = str(later)
        if node.fault != why:
            steps.write(work, lambda conn: store.update_instance(conn, node.id, fault=why))
        after: float = getattr(later, 'after', work.service.conf.retry_delay)
        return after
    except errors.Final as never:
        _fail(work, node, str(never))
        return None
    values = {
        'internal_ip': answering.address,
        'ssh_port': answering.port,
        'ssh_user': answering.user,
        'host_key': answering.host_key,
        'key_file': answering.key_file,
        'fault': None,
    }
    steps.write(work, lambda conn: transitions.finish(conn, states.NODE, 'spawn', node.id, **values))
    return None


def retire(work: Work) -> None:
    """Release leaving nodes without mounts, and delete node groups that are to have no nodes."""
    with work.ctx.db.reader() as conn:
        mounted = {mount.instance_id for mount in store.mounts(conn, (work.resource_id,))}
    leaving = [node for node in steps.nodes_in_state(work, _LEAVING) if node.id not in mounted]
    steps.for_each(work, leaving, lambda node: _retire(work, node))


def _retire(work: Work, node: Any) -> float | None:
    try:
        if node.infra_ref is not None:
            work.service.infra.release(node.infra_ref)
    except (errors.Again, NodeAway, errors.Unavailable) as later:
        after: float = getattr(later, 'after', work.service.conf.retry_delay)
        return after
    except errors.Final as never:
        why = str(never)
        steps.write(work, lambda conn: transitions.fail(conn, states.NODE, 'leave', node.id, fault=why))
        return None

    def gone(conn: Connection) -> None:
        transitions.finish(conn, states.NODE, 'leave', node.id)
        store.drop_empty_group(conn, node.node_group_id)

    steps.write(work, gone)
    return None
