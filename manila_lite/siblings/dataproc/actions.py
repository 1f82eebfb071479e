# SPDX-License-Identifier: Apache-2.0
"""Users' requests about clusters. Each changes rows, and begins the one operation that brings the cluster to their state."""

from collections.abc import Iterable, Mapping
from typing import Any

from oslo_utils import uuidutils

from manila_lite import engine, errors
from manila_lite.context import RequestContext
from manila_lite.db.core import transitions
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.dataproc import states, templates, validation
from manila_lite.siblings.dataproc.db import store
from manila_lite.siblings.dataproc.validation import InvalidData, InvalidReference

#: The operation that brings a cluster to what its rows ask for; one at a time for each cluster.
KIND, TOPIC = 'cluster.converge', 'dataproc'

_OWN = frozenset(
    {
        'name',
        'description',
        'plugin_name',
        'plugin_version',
        'is_public',
        'is_protected',
        'default_image_id',
        'shares',
    }
)
#: Values that a cluster takes from its template where it has none itself, beside the values that are kept as sent.
_INHERITED = ('shares', 'default_image_id')


def unique_key(cluster_id: str) -> str:
    """Return the key of a cluster's operation, of which one is open at a time."""
    return f'cluster:{cluster_id}'


def converge(conn: Connection, ctx: RequestContext, cluster_id: str) -> None:
    """Begin the operation of a cluster, or ask an open one for another round."""
    engine.begin_once(
        conn, ctx, KIND, 'cluster', cluster_id, topic=TOPIC, host='', unique_key=unique_key(cluster_id)
    )


def create(ctx: RequestContext, wanted: Mapping[str, Any], who: Mapping[str, str]) -> str:
    """Create a cluster, whose nodes are made later. Returns its id.

    :raises errors.Exists: the project has a cluster of that name.
    """
    own, kept = templates.split(wanted, _OWN)
    template_id = wanted.get('cluster_template_id')
    with ctx.db.reader() as conn:
        groups = templates.resolved(conn, ctx, wanted.get('node_groups') or ())
        if template_id is not None:
            base = _template(conn, ctx, template_id)
            kept = {name: value for name, value in base.details.items() if name != 'default_image_id'} | kept
            _inherit(own, base)
            groups = groups or templates.copied(
                store.groups(conn, 'cluster_template_id', (base.id,)).get(base.id, [])
            )
    templates.check_plugin(own)
    own['shares'] = validation.normal(own.get('shares'))
    _check_size(ctx, groups)
    known = templates.check_shares(ctx, who, own['shares'], groups, exports=True)
    cluster_id = uuidutils.generate_uuid()
    with store.refuse_duplicate_name('cluster', own['name']), ctx.db.writer() as conn:
        transitions.create(
            conn,
            states.CLUSTER,
            {
                'id': cluster_id,
                'project_id': ctx.project_id,
                'details': kept,
                'cluster_template_id': template_id,
                'progress': [],
                'known_shares': known,
                'is_public': False,
                'is_protected': False,
                **own,
            },
        )
        store.add_groups(conn, 'cluster_id', cluster_id, groups)
        converge(conn, ctx, cluster_id)
    return cluster_id


def _template(conn: Connection, ctx: RequestContext, template_id: str) -> Any:
    try:
        return store.get(conn, 'cluster template', template_id, ctx.project_id)
    except errors.NotFound as gone:
        raise InvalidReference(f'cluster_template_id: {gone}') from None


def _inherit(own: dict[str, Any], base: Any) -> None:
    for name in _INHERITED:
        if own.get(name) is None:
            own[name] = base.shares if name == 'shares' else base.details.get(name)


def _check_size(ctx: RequestContext, groups: Iterable[Mapping[str, Any]]) -> None:
    count, most = sum(group['count'] for group in groups), ctx.conf.dataproc.max_nodes
    if not count:
        raise InvalidData('node_groups: a cluster has at least one node.')
    if count > most:
        raise InvalidData(f'node_groups: {count} nodes; a cluster has at most {most}.')


def update(ctx: RequestContext, cluster_id: str, wanted: Mapping[str, Any], who: Mapping[str, str]) -> None:
    """Change values of a cluster. If shares are among them, missing shares are mounted on its nodes and all others
    unmounted; an empty list unmounts all.

    :raises errors.WrongState: an operation works on the cluster.
    """
    own, _ = templates.split(wanted, _OWN)
    if 'shares' in own:
        own['shares'] = validation.normal(own['shares'])
    with ctx.db.reader() as conn:
        store.get(conn, 'cluster', cluster_id, ctx.project_id, own=True)
        groups = templates.copied(store.groups(conn, 'cluster_id', (cluster_id,)).get(cluster_id, []))
    if 'shares' in own:
        own['known_shares'] = templates.check_shares(ctx, who, own['shares'], groups, exports=True)
    with store.refuse_duplicate_name('cluster', own.get('name')), ctx.db.writer() as conn:
        store.get(conn, 'cluster', cluster_id, ctx.project_id, own=True)
        if 'shares' in own:
            transitions.begin(
                conn, states.CLUSTER, 'update', cluster_id, status_description=None, fault=None, **own
            )
            converge(conn, ctx, cluster_id)
        else:
            store.update(conn, 'cluster', cluster_id, own)


def scale(ctx: RequestContext, cluster_id: str, wanted: Mapping[str, Any], who: Mapping[str, str]) -> None:
    """Change the number of nodes, in existing node groups and with new ones. If the nodes that are added fail, it is undone.

    :raises errors.WrongState: the cluster is to have more nodes, and is not active; or it is being deleted.
    """
    with ctx.db.reader() as conn:
        row = store.get(conn, 'cluster', cluster_id, ctx.project_id, own=True)
        there = store.groups(conn, 'cluster_id', (cluster_id,)).get(cluster_id, [])
        new = templates.resolved(conn, ctx, wanted.get('add_node_groups') or ())
    _counts(there, wanted, new)
    known = {}
    if new:
        known = templates.check_shares(
            ctx, who, row.shares or (), [*templates.copied(there), *new], exports=True
        )
    with ctx.db.writer() as conn:
        row = store.get(conn, 'cluster', cluster_id, ctx.project_id, own=True)
        there = store.groups(conn, 'cluster_id', (cluster_id,)).get(cluster_id, [])
        counts = _counts(there, wanted, new)
        _check_size(ctx, [*({'count': count} for count in counts.values()), *new])
        grows = bool(new) or any(counts[group.id] > group.count for group in there)
        transitions.begin(
            conn,
            states.CLUSTER,
            'scale' if grows else 'scale_back',
            cluster_id,
            status_description=None,
            known_shares=row.known_shares | known,
            scaling=_before(conn, cluster_id, there) if grows else None,
            fault=None,
        )
        for group_id, count in counts.items():
            store.resize(conn, group_id, count)
        store.add_groups(conn, 'cluster_id', cluster_id, new)
        converge(conn, ctx, cluster_id)


def _before(conn: Connection, cluster_id: str, there: list[Any]) -> dict[str, Any]:
    """Return what a cluster has before it grows, for ``undo_scaling``."""
    return {
        'nodes': [node.id for node in store.instances(conn, (cluster_id,))],
        'counts': {group.id: group.count for group in there},
    }


def undo_scaling(conn: Connection, ctx: RequestContext, row: Any, why: str) -> None:
    """Let the nodes leave that the scaling under way added, with its node groups, in one more round of the operation."""
    before = row.scaling
    for group in store.groups(conn, 'cluster_id', (row.id,)).get(row.id, []):
        store.resize(conn, group.id, before['counts'].get(group.id, 0))
    for node in store.instances(conn, (row.id,)):
        if node.id not in before['nodes']:
            transitions.begin(conn, states.NODE, 'leave', node.id)
    store.update(conn, 'cluster', row.id, {'scaling': None, 'fault': f'The scaling was undone: {why}'})
    converge(conn, ctx, row.id)


def _counts(there: list[Any], wanted: Mapping[str, Any], new: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of nodes that each existing group is to have, by its id."""
    by_name = {group.name: group for group in there}
    counts = {group.id: group.count for group in there}
    for change in wanted.get('resize_node_groups') or ():
        if change['name'] not in by_name:
            raise InvalidReference(f'resize_node_groups: there is no node group {change["name"]}.')
        counts[by_name[change['name']].id] = change['count']
    for group in new:
        if group['name'] in by_name:
            raise InvalidData(f'add_node_groups: there is a node group {group["name"]} already.')
    return counts


def delete(ctx: RequestContext, cluster_id: str) -> None:
    """Begin to delete the cluster: its shares are unmounted, its access rules and its nodes released."""
    with ctx.db.writer() as conn:
        row = store.get(conn, 'cluster', cluster_id, ctx.project_id, own=True)
        templates.must_not_be_protected('cluster', row)
        if row.status != states.CLUSTER['delete'].during:
            transitions.begin(
                conn, states.CLUSTER, 'delete', cluster_id, status_description=None, fault=None, scaling=None
            )
        converge(conn, ctx, cluster_id)
