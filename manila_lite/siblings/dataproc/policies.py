# SPDX-License-Identifier: Apache-2.0
"""Policy rules of clusters and templates."""

from oslo_policy import policy

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_PREFIX = 'data-processing'


def of(resource_type: str, verb: str) -> str:
    """Return the name of a rule."""
    return f'{_PREFIX}:{resource_type}:{verb}'


def _rules(resource_type: str, path: str) -> list[policy.DocumentedRuleDefault]:
    what, one = resource_type.replace('-', ' '), f'{path}/{{id}}'
    return [
        rule(of(resource_type, 'create'), MEMBER, f'Create a {what}.', f'POST {path}'),
        rule(of(resource_type, 'get'), READER, f'See a {what}.', f'GET {one}'),
        rule(of(resource_type, 'get_all'), READER, f'List each {what}.', f'GET {path}'),
        rule(of(resource_type, 'modify'), MEMBER, f'Change a {what}.', f'PATCH {one}'),
        rule(of(resource_type, 'delete'), MEMBER, f'Delete a {what}.', f'DELETE {one}'),
    ]


NODE_GROUP_TEMPLATE, CLUSTER_TEMPLATE, CLUSTER = 'node-group-template', 'cluster-template', 'cluster'
SCALE, PLUGINS, IMAGES = of(CLUSTER, 'scale'), of('plugin', 'get'), of('image', 'get')
OTHERS, ALL_PROJECTS = of('other', 'ask'), of(CLUSTER, 'get_all_projects')

RULES = [
    *_rules(NODE_GROUP_TEMPLATE, '/node-group-templates'),
    *_rules(CLUSTER_TEMPLATE, '/cluster-templates'),
    *_rules(CLUSTER, '/clusters'),
    rule(SCALE, MEMBER, 'Change the number of nodes of a cluster.', 'PUT /clusters/{id}'),
    rule(
        ALL_PROJECTS,
        ADMIN,
        'See the clusters of all projects.',
        'GET /clusters?all_projects=true',
        'GET /clusters/{id}',
    ),
    rule(PLUGINS, READER, 'List the plugins and their versions.', 'GET /plugins', 'GET /plugins/{name}'),
    rule(IMAGES, READER, 'List the images for nodes.', 'GET /images', 'GET /images/{id}'),
    rule(
        OTHERS, READER, 'Get the answer that jobs, data sources and binaries are not supported.', 'GET /jobs'
    ),
]
