# SPDX-License-Identifier: Apache-2.0
"""Calls for templates and clusters: from the parsed request to an action or a query, and back."""

import uuid
from collections.abc import Callable
from typing import Any

from manila_lite import errors
from manila_lite.api.request import Request
from manila_lite.db.core.engine import Connection
from manila_lite.siblings import shares as share_client
from manila_lite.siblings.dataproc import actions, policies, templates
from manila_lite.siblings.dataproc.db import store

#: The plugin of all clusters: it runs nothing beside the software of the image.
PLUGIN, VERSIONS = templates.PLUGIN, templates.VERSIONS
_SORTED_BY = frozenset({'created_at', 'name', 'plugin_name', 'id'})


class NotOffered(errors.ManilaLiteError):
    """Shares are mounted on clusters here; there are no jobs, and images are not registered."""

    code = 'NOT_IMPLEMENTED'


# Reading rows -----------------------------------------------------------------------------------


def detail(name: str, default: Any) -> Callable[[Any, Request], Any]:
    """Return a function that reads a value that is kept as sent."""
    return lambda row, req: row.details.get(name, default)


def shares_of(row: Any, req: Request) -> list[dict[str, Any]]:
    """Return the shares named in a row."""
    return row.shares or []


def groups_of(row: Any, req: Request) -> list[dict[str, Any]]:
    """Return the node groups of a row, loaded for all rows at once, with their nodes."""
    nodes = req.related.get('nodes', {})
    return [_group(group, nodes.get(group.id, [])) for group in req.related['groups'].get(row.id, [])]


def _group(row: Any, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    shown = {name: row.details.get(name, default) for name, default in templates.NODE_DEFAULTS.items()}
    return shown | {
        'id': row.id,
        'name': row.name,
        'count': row.count,
        'flavor_id': row.flavor_id,
        'image_id': row.image_id,
        'node_group_template_id': row.node_group_template_id,
        'shares': row.shares or [],
        'created_at': row.created_at,
        'updated_at': row.updated_at,
        **({} if row.cluster_id is None else {'instances': nodes}),
    }


def _node(row: Any, mounts: list[Any]) -> dict[str, Any]:
    return {
        'id': row.id,
        'instance_id': row.infra_ref,
        'instance_name': row.name,
        'internal_ip': row.internal_ip,
        'management_ip': row.internal_ip,
        'created_at': row.created_at,
        'updated_at': row.updated_at,
        'volumes': [],
        'state': row.state,
        'fault': row.fault,
        'shares': [
            {
                'id': mount.share_id,
                'path': mount.path,
                'access_level': mount.level,
                'state': mount.state,
                'fault': mount.fault,
            }
            for mount in mounts
        ],
    }


def info(row: Any, req: Request) -> dict[str, Any]:
    """Return the number of nodes, and of those that are ready with all their shares mounted."""
    nodes = [
        node
        for groups in req.related['groups'].get(row.id, [])
        for node in req.related['nodes'].get(groups.id, [])
    ]
    done = [
        node
        for node in nodes
        if node['state'] == 'ready' and all(one['state'] == 'mounted' for one in node['shares'])
    ]
    return {'shares': {'nodes_total': len(nodes), 'nodes_done': len(done)}}


def fault(row: Any, req: Request) -> str | None:
    """Return what is wrong with the cluster, or what its operation waits for now; None if nothing is."""
    if row.status_description:
        return str(row.status_description)
    nodes = [
        node for one in req.related['groups'].get(row.id, []) for node in req.related['nodes'].get(one.id, [])
    ]
    faults = [f'{node["instance_name"]}: {node["fault"]}' for node in nodes if node['fault']]
    faults += [
        f'{node["instance_name"]}: share {share["id"]} at {share["path"]}: {share["fault"]}'
        for node in nodes
        for share in node['shares']
        if share['fault']
    ]
    faults += [
        f'access to share {grant.share_id}: {grant.fault}'
        for grant in req.related['grants']
        if row.id in grant.reason
    ]
    return '; '.join(faults) or None


def progress(row: Any, req: Request) -> list[dict[str, Any]]:
    """Return the progress of the steps of the present work, if the request asks for it."""
    return row.progress if req.query.get('show_progress', '').lower() in ('true', '1') else []


# Templates and clusters -------------------------------------------------------------------------


def _caller(req: Request) -> dict[str, str]:
    return share_client.caller(req.raw.headers)


def _sorting(req: Request) -> tuple[str, bool]:
    text = req.query.get('sort_by', 'created_at')
    column = text.removeprefix('-')
    if column not in _SORTED_BY:
        raise errors.Invalid(f'sort_by: {column!r} is not one of {", ".join(sorted(_SORTED_BY))}.')
    return column, text.startswith('-')


def _scope(req: Request, resource_type: str, *, asked: bool) -> str | None:
    """Return the project whose rows are shown, or ``store.EVERY_PROJECT``, which administrators may ask for.

    :raises errors.Forbidden: the caller asked for all projects, and may not see them.
    """
    if resource_type == 'cluster' and asked and req.may(policies.ALL_PROJECTS):
        return store.EVERY_PROJECT
    if req.query.get('all_projects'):
        raise errors.Forbidden('all_projects: only administrators may see the clusters of all projects.')
    return req.ctx.project_id


def _list(req: Request, resource_type: str) -> list[Any]:
    column, descending = _sorting(req)
    project_id = _scope(req, resource_type, asked=bool(req.query.get('all_projects')))
    limit = min(req.query.get('limit', req.ctx.conf.osapi_max_limit), req.ctx.conf.osapi_max_limit)
    filters: dict[str, Any] = {
        name: req.query[name] for name in ('name', 'plugin_name', 'plugin_version') if name in req.query
    }
    with req.ctx.db.reader() as conn:
        rows = store.list_visible(
            conn,
            resource_type,
            project_id,
            filters,
            limit=limit,
            marker=req.query.get('marker'),
            sort_by=column,
            descending=descending,
        )
        if len(rows) > limit:
            rows = rows[:limit]
            req.related['next'] = rows[-1].id
        _load(conn, req, resource_type, rows)
    return rows


def _load(conn: Connection, req: Request, resource_type: str, rows: list[Any]) -> None:
    """Load the node groups, nodes and mounts of all rows."""
    column = templates.GROUPS_BY.get(resource_type)
    owner_ids = [row.id for row in rows]
    if column is None:
        return
    req.related['groups'] = store.groups(conn, column, owner_ids) if owner_ids else {}
    nodes: dict[str, list[Any]] = {}
    req.related['nodes'] = nodes
    if resource_type == 'cluster' and owner_ids:
        mounts: dict[str, list[Any]] = {}
        for mount in store.mounts(conn, owner_ids):
            mounts.setdefault(mount.instance_id, []).append(mount)
        for node in store.instances(conn, owner_ids):
            nodes.setdefault(node.node_group_id, []).append(_node(node, mounts.get(node.id, [])))
        req.related['grants'] = store.grants_with_fault(conn)


def _show(req: Request, resource_type: str, resource_id: str) -> Any:
    project_id = _scope(req, resource_type, asked=True)
    with req.ctx.db.reader() as conn:
        row = store.get(conn, resource_type, resource_id, project_id)
        _load(conn, req, resource_type, [row])
    return row


class _Named:
    """The calls that read templates or clusters."""

    resource_type: str

    @classmethod
    def index(cls, req: Request) -> list[Any]:
        """List the resources that the project sees."""
        return _list(req, cls.resource_type)

    @classmethod
    def show(cls, req: Request) -> Any:
        """Show a resource."""
        return _show(req, cls.resource_type, req.params['resource_id'])


class _Templates(_Named):
    """The calls of one kind of template."""

    #: The old version of the API changes templates by PUT, the new one by PATCH.
    updates_by = ('PUT', 'PATCH')

    @classmethod
    def create(cls, req: Request) -> Any:
        """Create a template."""
        return _show(
            req, cls.resource_type, templates.create(req.ctx, cls.resource_type, req.body, _caller(req))
        )

    @classmethod
    def update(cls, req: Request) -> Any:
        """Change a template."""
        templates.update(req.ctx, cls.resource_type, req.params['resource_id'], req.body, _caller(req))
        return _show(req, cls.resource_type, req.params['resource_id'])

    @classmethod
    def delete(cls, req: Request) -> None:
        """Delete a template."""
        templates.delete(req.ctx, cls.resource_type, req.params['resource_id'])


class NodeGroupTemplates(_Templates):
    """The calls of node group templates."""

    resource_type = 'node group template'


class ClusterTemplates(_Templates):
    """The calls of cluster templates."""

    resource_type = 'cluster template'


class Clusters(_Named):
    """The calls of clusters."""

    resource_type = 'cluster'
    updates_by = ('PATCH',)

    @classmethod
    def create(cls, req: Request) -> Any:
        """Create a cluster."""
        return _show(req, cls.resource_type, actions.create(req.ctx, req.body, _caller(req)))

    @classmethod
    def update(cls, req: Request) -> Any:
        """Change name, description or shares of a cluster."""
        actions.update(req.ctx, req.params['resource_id'], req.body, _caller(req))
        return _show(req, cls.resource_type, req.params['resource_id'])

    @classmethod
    def scale(cls, req: Request) -> Any:
        """Change the number of nodes of a cluster."""
        actions.scale(req.ctx, req.params['resource_id'], req.body, _caller(req))
        return _show(req, cls.resource_type, req.params['resource_id'])

    @classmethod
    def delete(cls, req: Request) -> None:
        """Delete a cluster."""
        actions.delete(req.ctx, req.params['resource_id'])


# Plugins and images -----------------------------------------------------------------------------


def _plugin() -> dict[str, Any]:
    labels = {'enabled': {'status': True, 'description': 'It is offered.', 'mutable': False}}
    return {
        'name': PLUGIN,
        'title': 'Plain nodes',
        'description': 'Nodes with shares mounted, and no software.',
        'versions': list(VERSIONS),
        'plugin_labels': labels,
        'version_labels': dict.fromkeys(VERSIONS, labels),
    }


def plugins(req: Request) -> dict[str, Any]:
    """List plugins."""
    return {'plugins': [_plugin()]}


def plugin(req: Request) -> dict[str, Any]:
    """Show a plugin."""
    if req.params['resource_id'] != PLUGIN:
        raise errors.NotFound.of('plugin', req.params['resource_id'])
    return {'plugin': _plugin()}


def plugin_version(req: Request) -> dict[str, Any]:
    """Show a plugin at a version."""
    if req.params['version'] not in VERSIONS:
        raise errors.NotFound.of('plugin version', req.params['version'])
    return {
        'plugin': plugin(req)['plugin']
        | {'node_processes': {PLUGIN: list(templates.PROCESSES)}, 'required_image_tags': [], 'configs': []}
    }


def _images(req: Request) -> list[dict[str, Any]]:
    return [
        {
            'id': str(uuid.uuid5(uuid.NAMESPACE_URL, f'urn:manila_lite:image:{name}')),
            'name': name,
            'username': 'root',
            'description': '',
            'tags': [PLUGIN, *VERSIONS],
            'status': 'ACTIVE',
            'metadata': {},
        }
        for name in req.ctx.conf.dataproc.images
    ]


def images(req: Request) -> dict[str, Any]:
    """List images."""
    return {'images': _images(req)}


def image(req: Request) -> dict[str, Any]:
    """Show an image."""
    for one in _images(req):
        if req.params['resource_id'] in (one['id'], one['name']):
            return {'image': one}
    raise errors.NotFound.of('image', req.params['resource_id'])


def absent(req: Request) -> None:
    """Refuse a call that this service does not offer."""
    raise NotOffered(
        'This service mounts shares on clusters; jobs, data sources, binaries and the registering of images are '
        'not offered.'
    )
