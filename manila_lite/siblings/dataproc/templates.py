# SPDX-License-Identifier: Apache-2.0
"""Users' requests about templates, and the node groups made from them."""

from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import errors
from manila_lite.context import RequestContext
from manila_lite.db.core.engine import Connection
from manila_lite.siblings.dataproc import share_checks, validation
from manila_lite.siblings.dataproc.db import store
from manila_lite.siblings.dataproc.validation import InvalidData, InvalidReference

#: The only plugin: its clusters run nothing beside the software of the image.
PLUGIN, VERSIONS, PROCESSES = 'plain', ('1.0',), ('node',)

#: The column by which node groups belong to their owner, by the owner's resource type.
GROUPS_BY = {'cluster template': 'cluster_template_id', 'cluster': 'cluster_id'}

#: Values that a node group shows by default.
NODE_DEFAULTS: dict[str, Any] = {
    'node_processes': [],
    'node_configs': {},
    'availability_zone': None,
    'security_groups': [],
    'use_autoconfig': True,
    'floating_ip_pool': None,
    'auto_security_group': False,
    'is_proxy_gateway': False,
    'volumes_per_node': 0,
    'volumes_size': 0,
    'volume_type': None,
    'volumes_availability_zone': None,
    'volume_mount_prefix': '/volumes/disk',
    'volume_local_to_instance': False,
}

_COLUMNS = frozenset(
    {
        'name',
        'description',
        'plugin_name',
        'plugin_version',
        'is_public',
        'is_protected',
        'flavor_id',
        'image_id',
        'shares',
    }
)
_FLAGS = ('is_public', 'is_protected')


def split(
    wanted: Mapping[str, Any], columns: frozenset[str] = _COLUMNS
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values that have columns of their own, and those kept as sent; null is left out of the latter."""
    own = {name: value for name, value in wanted.items() if name in columns}
    if wanted.get('hadoop_version') is not None:
        own['plugin_version'] = wanted['hadoop_version']
    for name in _FLAGS:
        if name in own:
            own[name] = bool(own[name])
    if own.get('flavor_id') is not None:
        own['flavor_id'] = str(own['flavor_id'])
    kept = {
        name: value
        for name, value in wanted.items()
        if name not in columns
        and name not in ('hadoop_version', 'node_groups', 'cluster_template_id', 'count')
        and value is not None
    }
    return own, kept


def check_plugin(values: Mapping[str, Any]) -> None:
    """Check that the plugin and its version exist. :raises InvalidReference: one does not."""
    if values.get('plugin_name', PLUGIN) != PLUGIN:
        raise InvalidReference(f'plugin_name: there is no {values["plugin_name"]!r}, only {PLUGIN!r}.')
    if values.get('plugin_version', VERSIONS[0]) not in VERSIONS:
        raise InvalidReference(
            f'plugin_version: {PLUGIN} has {", ".join(VERSIONS)}, not {values["plugin_version"]!r}.'
        )


def check_shares(
    ctx: RequestContext,
    who: Mapping[str, str],
    shares: validation.Shares,
    groups: Sequence[Mapping[str, Any]] = (),
    *,
    exports: bool = False,
) -> dict[str, dict[str, str]]:
    """Check that all these shares can be mounted together on the nodes of these groups. Returns as ``asking.check``.
    Call it outside of a transaction.

    :raises InvalidData: the shares' paths are in conflict.
    :raises InvalidReference: the user has no such share, or it cannot be used.
    """
    validation.check_groups(shares, [(group['name'], group.get('shares')) for group in groups])
    named = [*shares, *(share for group in groups for share in group.get('shares') or ())]
    if not named:
        return {}
    with ctx.waiting('the share service'):
        return share_checks.check(
            ctx, who, named, {protocol.upper() for protocol in ctx.conf.dataproc.handlers}, exports=exports
        )


def resolved(
    conn: Connection, ctx: RequestContext, groups: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return node groups as rows: with their own values, and for the rest those of their templates.

    :raises InvalidReference: there is no such template. :raises InvalidData: two groups have one name.
    """
    names = [group['name'] for group in groups]
    if len(names) > len(set(names)):
        raise InvalidData('node_groups: two have the same name.')
    return [_resolved(conn, ctx, group) for group in groups]


def _resolved(conn: Connection, ctx: RequestContext, group: Mapping[str, Any]) -> dict[str, Any]:
    own, kept = split(group)
    template_id = group.get('node_group_template_id')
    kept.pop('node_group_template_id', None)
    row = {'name': group['name'], 'count': group['count'], 'node_group_template_id': template_id}
    base: Any = None
    if template_id is not None:
        try:
            base = store.get(conn, 'node group template', template_id, ctx.project_id)
        except errors.NotFound as gone:
            raise InvalidReference(f'node_groups: {gone}') from None
        kept = base.details | kept
    for name in ('flavor_id', 'image_id'):
        row[name] = own.get(name) if own.get(name) is not None else getattr(base, name, None)
    given = own.get('shares')
    row['shares'] = (
        validation.normal(given, f'node group {group["name"]}: shares')
        if given is not None
        else getattr(base, 'shares', None)
    )
    return row | {'details': kept}


def copied(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Return copies of node groups, for another owner."""
    return [
        {
            name: getattr(row, name)
            for name in (
                'name',
                'count',
                'node_group_template_id',
                'flavor_id',
                'image_id',
                'details',
                'shares',
            )
        }
        for row in rows
    ]


# Calls ------------------------------------------------------------------------------------------


def create(ctx: RequestContext, resource_type: str, wanted: Mapping[str, Any], who: Mapping[str, str]) -> str:
    """Create a template, and return its id.

    :raises errors.Exists: the project has a template of that name.
    """
    own, kept = _values(resource_type, wanted)
    check_plugin(own)
    own['shares'] = validation.normal(own.get('shares'))
    with ctx.db.reader() as conn:
        groups = resolved(conn, ctx, wanted.get('node_groups') or ())
    check_shares(ctx, who, own['shares'], groups)
    with store.refuse_duplicate_name(resource_type, own['name']), ctx.db.writer() as conn:
        template_id = store.insert(
            conn, resource_type, {'project_id': ctx.project_id, 'details': kept, **own}
        )
        _set_groups(conn, resource_type, template_id, groups)
    return template_id


def _values(resource_type: str, wanted: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    return split(
        wanted, _COLUMNS if resource_type == 'node group template' else _COLUMNS - {'flavor_id', 'image_id'}
    )


def _set_groups(
    conn: Connection, resource_type: str, template_id: str, groups: Sequence[Mapping[str, Any]]
) -> None:
    if resource_type in GROUPS_BY:
        store.add_groups(conn, GROUPS_BY[resource_type], template_id, groups)


def update(
    ctx: RequestContext,
    resource_type: str,
    template_id: str,
    wanted: Mapping[str, Any],
    who: Mapping[str, str],
) -> None:
    """Change the given values of the template."""
    own, kept = _values(resource_type, wanted)
    check_plugin(own)
    with ctx.db.reader() as conn:
        row = store.get(conn, resource_type, template_id, ctx.project_id, own=True)
        new = resolved(conn, ctx, wanted.get('node_groups') or ())
        if resource_type in GROUPS_BY and wanted.get('node_groups') is None:
            new = copied(store.groups(conn, GROUPS_BY[resource_type], (template_id,)).get(template_id, []))
    if 'shares' in own:
        own['shares'] = validation.normal(own['shares'])
    if 'shares' in own or wanted.get('node_groups') is not None:
        check_shares(ctx, who, own.get('shares', row.shares) or (), new)
    if kept:
        own['details'] = row.details | kept
    with store.refuse_duplicate_name(resource_type, own.get('name')), ctx.db.writer() as conn:
        store.get(conn, resource_type, template_id, ctx.project_id, own=True)
        store.update(conn, resource_type, template_id, own)
        if wanted.get('node_groups') is not None:
            store.drop_groups(conn, GROUPS_BY[resource_type], template_id)
            _set_groups(conn, resource_type, template_id, new)


def delete(ctx: RequestContext, resource_type: str, template_id: str) -> None:
    """Delete the template.

    :raises errors.Conflict: it is protected, or clusters or templates are made of it.
    """
    with ctx.db.writer() as conn:
        row = store.get(conn, resource_type, template_id, ctx.project_id, own=True)
        must_not_be_protected(resource_type, row)
        used = store.names_of_users(conn, resource_type, template_id)
        if used:
            raise errors.Conflict(
                f'{resource_type.capitalize()} {template_id} is used by {", ".join(sorted(used))}.'
            )
        if resource_type in GROUPS_BY:
            store.drop_groups(conn, GROUPS_BY[resource_type], template_id)
        store.delete(conn, resource_type, template_id)


def must_not_be_protected(resource_type: str, row: Any) -> None:
    """Refuse to delete a protected row. :raises errors.Conflict: its owner protected it."""
    if row.is_protected:
        raise errors.Conflict(
            f'{resource_type.capitalize()} {row.id} is protected; change is_protected first.'
        )
