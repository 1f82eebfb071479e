# SPDX-License-Identifier: Apache-2.0
"""The API as data: a row for every call, as the data-processing client sends them below ``/v1.1`` and ``/v2``."""

import dataclasses
from typing import Any

from manila_lite import errors
from manila_lite.api.framework import fields, shapes
from manila_lite.api.framework.bodies import Body
from manila_lite.api.framework.call import Always, Call, Field, Many, One, Plain, View
from manila_lite.siblings.dataproc import calls, templates, validation
from manila_lite.siblings.dataproc import policies as rules

#: The first minor version is ``/v1.1``, the second ``/v2``.
V1, V2 = '2.1', '2.2'

_TEXT, _NULL, _OBJECT = {'type': 'string'}, shapes.NULL_STRING, {'type': 'object'}
_NULL_FLAG = {'type': ['boolean', 'null']}
#: The pattern of host names, since nodes are named after their cluster and node group.
_HOST = {
    'type': 'string',
    'minLength': 1,
    'maxLength': 80,
    'pattern': '^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$',
}
_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 80, 'pattern': '^[^\\u0000-\\u001f\\u007f]+$'}
_PROCESSES = {
    'type': ['array', 'null'],
    'items': {'enum': list(templates.PROCESSES)},
    'maxItems': len(templates.PROCESSES),
}
_NONE: dict[str, Any] = {'type': 'null'}
_NO = {'enum': [False, None]}
_EMPTY_LIST: dict[str, Any] = {'type': ['array', 'null'], 'maxItems': 0}
_EMPTY_OBJECT: dict[str, Any] = {'type': ['object', 'null'], 'maxProperties': 0}
_FLAVOR = {'type': ['string', 'integer', 'null'], 'maxLength': 255}
_COUNT = {'type': 'integer', 'minimum': 0, 'maximum': 100000}


@dataclasses.dataclass(frozen=True, eq=False)
class Bare(Body):
    """A body without a key around its entity."""

    strict: bool = True

    def parse(self, version: int, document: Any, ignored: list[str] | None = None) -> Any:
        if not isinstance(document, dict):
            raise errors.Invalid(f'{self.key}: the body must be an object.')
        return super().parse(version, {self.key: document}, ignored)


class Pages(Many):
    """A list with the marker of the next page, if a limit was given."""

    def render(self, rows: Any, req: Any) -> dict[str, Any]:
        document = super().render(rows, req)
        if 'limit' in req.query:
            document['markers'] = {'prev': None, 'next': req.related.get('next')}
        return document

    def schema(self, version: int) -> shapes.Schema:
        return shapes.document(
            {self.view.plural: {'type': 'array', 'items': self.view.schema(version)}}, {'markers': _OBJECT}
        )


def _kept(*rows: tuple[Any, ...]) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """Return fields of a body and of a view: name, schema, default in the view.

    Clients read all of them. Those without an effect here accept no value that asks for one.
    """
    sent = tuple(Field(name, schema, **more) for name, schema, _, more in rows)
    shown = tuple(
        Field(name, {}, read=calls.detail(name, default), **more) for name, _, default, more in rows
    )
    return sent, shown


_ALL: dict[str, str] = {}
_NEW = {'since': V2}
_NODE_SENT, _NODE_SHOWN = _kept(
    ('node_processes', _PROCESSES, [], _ALL),
    ('node_configs', _EMPTY_OBJECT, {}, _ALL),
    ('availability_zone', _NONE, None, _ALL),
    ('security_groups', _EMPTY_LIST, [], _ALL),
    # Clients always send one of both. There is nothing to configure.
    ('use_autoconfig', _NULL_FLAG, True, _ALL),
    # Nodes have no volumes of their own, and only the addresses that their infrastructure gives them.
    ('floating_ip_pool', _NONE, None, _ALL),
    ('auto_security_group', _NO, False, _ALL),
    ('is_proxy_gateway', _NO, False, _ALL),
    ('volumes_per_node', {'enum': [0, None]}, 0, _ALL),
    ('volumes_size', {'enum': [0, None]}, 0, _ALL),
    ('volume_type', _NONE, None, _ALL),
    ('volumes_availability_zone', _NONE, None, _ALL),
    ('volume_mount_prefix', {'enum': ['/volumes/disk', None]}, '/volumes/disk', _ALL),
    ('volume_local_to_instance', _NO, False, _ALL),
    ('boot_from_volume', _NO, False, _NEW),
    ('boot_volume_type', _NONE, None, _NEW),
    ('boot_volume_availability_zone', _NONE, None, _NEW),
    ('boot_volume_local_to_instance', _NO, False, _NEW),
)
_CLUSTER_SENT, _CLUSTER_SHOWN = _kept(
    ('cluster_configs', _EMPTY_OBJECT, {}, _ALL),
    ('anti_affinity', _EMPTY_LIST, [], _ALL),
    ('neutron_management_network', _NONE, None, _ALL),
    ('use_autoconfig', _NULL_FLAG, True, _ALL),
    ('domain_name', _NONE, None, _ALL),
)
_ONLY_CLUSTER_SENT, _ONLY_CLUSTER_SHOWN = _kept(
    ('user_keypair_id', _NONE, None, _ALL), ('is_transient', _NO, False, _ALL)
)


# Views ------------------------------------------------------------------------------------------

_DESCRIBED = (
    Field('id', shapes.ID),
    Field('name', _TEXT),
    Field('description', _NULL),
    Field('plugin_name', _TEXT),
    Field('hadoop_version', _TEXT, until=V1, read='plugin_version'),
    Field('plugin_version', _TEXT, since=V2),
    Field('tenant_id', _TEXT, until=V1, read='project_id'),
    Field('project_id', _TEXT, since=V2),
    Field('created_at', shapes.TIME),
    Field('updated_at', shapes.NULL_TIME),
    Field('is_public', shapes.BOOLEAN),
    Field('is_protected', shapes.BOOLEAN),
    Field('shares', validation.SCHEMA, read=calls.shares_of),
)
_SIZED = (Field('flavor_id', _NULL), Field('image_id', _NULL))

NODE_GROUP_TEMPLATE = View(
    'node_group_template',
    'node_group_templates',
    (*_DESCRIBED, *_SIZED, *_NODE_SHOWN, Field('is_default', shapes.BOOLEAN, read=Always(value=False))),
)
CLUSTER_TEMPLATE = View(
    'cluster_template',
    'cluster_templates',
    (
        *_DESCRIBED,
        *_CLUSTER_SHOWN,
        Field('is_default', shapes.BOOLEAN, read=Always(value=False)),
        Field('default_image_id', _NULL, read=calls.detail('default_image_id', None)),
        Field('node_groups', {'type': 'array'}, read=calls.groups_of),
    ),
)
CLUSTER = View(
    'cluster',
    'clusters',
    (
        *_DESCRIBED,
        *_CLUSTER_SHOWN,
        *_ONLY_CLUSTER_SHOWN,
        Field('cluster_template_id', _NULL),
        Field('default_image_id', _NULL),
        Field('status', _TEXT),
        Field('status_description', _NULL),
        Field('fault', _NULL, read=calls.fault),
        Field('node_groups', {'type': 'array'}, read=calls.groups_of),
        Field('info', _OBJECT, read=calls.info),
        Field('provision_progress', {'type': 'array'}, read=calls.progress),
        Field('management_public_key', _NULL, read=Always(value=None)),
        Field('trust_id', _NULL, read=Always(value=None)),
    ),
)


# Bodies -----------------------------------------------------------------------------------------


def _body(key: str, *more: Field, name: Any = _NAME, new: bool = True) -> Bare:
    named = (
        Field('name', name, required=new),
        Field('description', shapes.NULL_STRING),
        Field('plugin_name', _TEXT, required=new),
        Field('plugin_version', _TEXT, since=V2, required=new),
        Field('hadoop_version', _TEXT, until=V1, required=new),
        Field('is_public', _NULL_FLAG),
        Field('is_protected', _NULL_FLAG),
        Field('shares', validation.NULL_SCHEMA),
    )
    return Bare(key, (*named, *more))


_NODE = (Field('flavor_id', _FLAVOR), Field('image_id', _NULL), *_NODE_SENT)


def _group(version: str) -> dict[str, Any]:
    """Return the schema of a node group in a cluster or cluster template."""
    living = fields.fields_at(_NODE, int(version.partition('.')[2]))
    return {
        'type': 'object',
        'required': ['name', 'count'],
        'additionalProperties': False,
        'properties': {
            'name': _HOST,
            'count': _COUNT,
            'node_group_template_id': _NULL,
            'shares': validation.NULL_SCHEMA,
            **{field.name: field.schema for field in living},
        },
    }


def _groups(name: str, **more: Any) -> tuple[Field, ...]:
    times: tuple[tuple[str, dict[str, Any]], ...] = ((V1, {'until': V1}), (V2, {'since': V2}))
    return tuple(
        Field(name, {'type': ['array', 'null'], 'items': _group(version), 'maxItems': 100}, **when, **more)
        for version, when in times
    )


_IMAGE = Field('default_image_id', _NULL)
_CLUSTER = (*_CLUSTER_SENT, _IMAGE, *_groups('node_groups'))
_CREATE = _body(
    'cluster',
    *_CLUSTER,
    *_ONLY_CLUSTER_SENT,
    Field('cluster_template_id', _NULL),
    Field('count', {'enum': [1, None]}),
    name=_HOST,
)
_PATCH = Bare(
    'cluster',
    (
        Field('name', _HOST),
        Field('description', _NULL),
        Field('is_public', _NULL_FLAG),
        Field('is_protected', _NULL_FLAG),
        Field('shares', validation.NULL_SCHEMA),
    ),
)
_RESIZE = {
    'type': ['array', 'null'],
    'maxItems': 100,
    'items': {
        'type': 'object',
        'required': ['name', 'count'],
        'additionalProperties': False,
        'properties': {'name': _HOST, 'count': _COUNT},
    },
}
_SCALE = Bare('cluster', (Field('resize_node_groups', _RESIZE), *_groups('add_node_groups')))

_PAGE = (
    Field('limit', {'type': 'integer', 'minimum': 1, 'maximum': shapes.MAX_INT}, parse=shapes.integer),
    Field('marker', _TEXT),
    Field('sort_by', _TEXT),
    Field('name', _TEXT),
    Field('plugin_name', _TEXT),
    Field('plugin_version', _TEXT, aliases=('hadoop_version',)),
)


_PAGE_OF_CLUSTERS = (*_PAGE, Field('all_projects', shapes.FLAG, parse=shapes.flag))


def _calls(
    resource_type: str,
    path: str,
    view: View,
    handlers: Any,
    create: Bare,
    change: Bare,
    query: tuple[Field, ...] = _PAGE,
) -> list[Call]:
    one = f'{path}/{{resource_id}}'
    changes = [
        Call(method, one, handlers.update, rules.of(resource_type, 'modify'), One(view), ok=202, body=change)
        for method in handlers.updates_by
    ]
    return [
        Call('GET', path, handlers.index, rules.of(resource_type, 'get_all'), Pages(view), query=query),
        Call(
            'POST', path, handlers.create, rules.of(resource_type, 'create'), One(view), ok=202, body=create
        ),
        Call(
            'GET',
            one,
            handlers.show,
            rules.of(resource_type, 'get'),
            One(view),
            query=(Field('show_progress', {'type': 'string'}),),
        ),
        Call('DELETE', one, handlers.delete, rules.of(resource_type, 'delete'), ok=204),
        *changes,
    ]


_PLUGIN = Plain({'type': 'object'})
_ABSENT = (
    'jobs',
    'job-templates',
    'job-executions',
    'job-types',
    'job-binaries',
    'job-binary-internals',
    'data-sources',
)
_ABSENT_PATHS = [path for name in _ABSENT for path in (f'/{name}', f'/{name}/{{resource_id}}')]
_CHANGES_OF_IMAGES = [
    *((method, '/images/{resource_id}') for method in ('POST', 'DELETE')),
    *(('POST', f'/images/{{resource_id}}/{verb}') for verb in ('tag', 'untag')),
    *((method, '/images/{resource_id}/tags') for method in ('PUT', 'DELETE')),
]
_501 = ((calls.NotOffered, 501),)

CALLS = [
    *_calls(
        rules.NODE_GROUP_TEMPLATE,
        '/node-group-templates',
        NODE_GROUP_TEMPLATE,
        calls.NodeGroupTemplates,
        _body('node_group_template', *_NODE),
        _body('node_group_template', *_NODE, new=False),
    ),
    *_calls(
        rules.CLUSTER_TEMPLATE,
        '/cluster-templates',
        CLUSTER_TEMPLATE,
        calls.ClusterTemplates,
        _body('cluster_template', *_CLUSTER),
        _body('cluster_template', *_CLUSTER, new=False),
    ),
    *_calls(rules.CLUSTER, '/clusters', CLUSTER, calls.Clusters, _CREATE, _PATCH, _PAGE_OF_CLUSTERS),
    Call(
        'PUT', '/clusters/{resource_id}', calls.Clusters.scale, rules.SCALE, One(CLUSTER), ok=202, body=_SCALE
    ),
    Call('GET', '/plugins', calls.plugins, rules.PLUGINS, _PLUGIN),
    Call('GET', '/plugins/{resource_id}', calls.plugin, rules.PLUGINS, _PLUGIN),
    Call('GET', '/plugins/{resource_id}/{version}', calls.plugin_version, rules.PLUGINS, _PLUGIN),
    Call('GET', '/images', calls.images, rules.IMAGES, _PLUGIN),
    Call('GET', '/images/{resource_id}', calls.image, rules.IMAGES, _PLUGIN),
    *(Call(method, path, calls.absent, rules.OTHERS, states=_501) for method, path in _CHANGES_OF_IMAGES),
    *(
        Call(method, path, calls.absent, rules.OTHERS, states=_501)
        for path in _ABSENT_PATHS
        for method in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')
    ),
]
