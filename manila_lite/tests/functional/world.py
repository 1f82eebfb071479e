# SPDX-License-Identifier: Apache-2.0
"""Create one resource of each kind for a project, and bodies that fit the contract. For tests of all calls."""

from oslo_utils import timeutils

from manila_lite.api.framework import fields
from manila_lite.db.queries import share_usage, usage_sums
from manila_lite.tests import waiting
from manila_lite.tests.factories import backups, networks, replicas
from manila_lite.values import SERIES

#: By field: values that do not follow from the schema alone.
_VALUES = {
    'size': 1,
    'new_size': 2,
    'share_proto': 'NFS',
    'status': 'error',
    'access_type': 'ip',
    'access_to': '10.0.0.8',
    'access_level': 'ro',
    'name': 'some-name',
    'cron': '0 3 * * *',
    'time_zone': 'UTC',
    'extra_specs': {'driver_handles_share_servers': 'False'},
    'metadata': {'key': 'value'},
    'meta': {'key': 'value'},
}

#: Fields of bodies and queries whose name differs from the path parameter for the same resource.
ALSO = {
    'share_type': 'type_id',
    'share_type_id': 'type_id',
    'new_share_type_id': 'type_id',
    'volume_type': 'type_id',
    'new_share_network_id': 'share_network_id',
    'share_network': 'share_network_id',
    'server_id': 'share_server_id',
    'source_share_server_id': 'share_server_id',
    'resource_id': 'share_id',
}


def make(service, admin, owner, mark='first'):
    """Create one resource of each kind as ``owner``; return the values of path parameters by name.

    ``mark``: a word to put into every free text.
    """
    pairs = {'key': mark}
    share = owner.share(name=mark, description=mark, metadata=pairs)
    path = f'/shares/{share["id"]}'
    export = owner.ok('GET', f'{path}/export_locations')['export_locations'][0]
    snapshot = _snapshot(owner, share, mark)
    _measured(service, share)
    rule = _rule(owner, share, mark)
    found = {
        'share_id': share['id'],
        'snapshot_id': snapshot['id'],
        'snapshot_instance_id': _instance(admin, snapshot)['id'],
        'snapshot_export_location_id': _snapshot_export(owner, snapshot)['id'],
        'access_id': rule['id'],
        'resource_lock_id': _lock(owner, rule, mark)['id'],
        'export_location_id': export['id'],
        'transfer_id': _transfer(owner, mark)['id'],
        'share_instance_id': admin.ok('GET', f'{path}/instances')['share_instances'][0]['id'],
        'message_id': _message(owner)['id'],
        'qos_type_id': _qos_type(admin, mark)['id'],
        'type_id': _private_type(admin, share['project_id'], mark)['id'],
        **_network(owner, mark),
        **_replica(service, owner, mark),
        'backup_id': _backup(service, owner, mark),
        **_group(admin, owner, share['project_id'], mark),
        'share_server_id': _server(service, share['project_id']),
        'schedule_id': _schedule(owner, share, mark)['id'],
        'operation_id': owner.ok('GET', f'/operations?resource_id={share["id"]}')['operations'][0]['id'],
        'quota_project_id': share['project_id'],
        'usage_project_id': share['project_id'],
        'pool_host': 'test@alpha%23pool1',
        'class_name': 'default',
        'alias': 'nothing',
        'key': 'key',
    }
    owner.ok('POST', f'{path}/export_locations/{found["export_location_id"]}/metadata', {'metadata': pairs})
    return found


def body(op, version, found):
    """Return a body for a call, or None if the call takes no body. ``found``: see :func:`make`."""
    entity = op.body_at(version)
    return None if entity is None else _sample(entity.schema(version), '', {**_VALUES, **found})


def planted(op, version, found, name, value):
    """Return a valid body in which one field, or without ``name`` the whole entity, has the given value."""
    key, sample = op.body_at(version).key, body(op, version, found)
    if name is None:
        return {key: value}
    if isinstance(sample.get(key), dict):
        return {key: {**sample[key], name: value}}
    return {**sample, name: value}  # the body is the entity itself, without a key


def parameters(op):
    """Return the names of the parameters in the path of a call."""
    return [part.strip('{}') for part in op.path.split('/') if part.startswith('{')]


def body_fields(op, version):
    """Return the fields of the body of a call."""
    entity = op.body_at(version)
    return () if entity is None else fields.fields_at(entity.fields, version)


def _sample(schema, name, values):
    if name in values:
        return values[name]
    if 'enum' in schema:
        return schema['enum'][0]
    kinds = schema.get('type', 'object')
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == 'object':
        wanted = schema.get('required', ())
        return {key: _sample(schema['properties'][key], key, values) for key in wanted}
    return {'string': 'key', 'integer': 1, 'boolean': True, 'array': []}[kind]


def _transfer(owner, mark):
    return owner.ok(
        'POST', '/share-transfers', {'transfer': {'share_id': owner.share()['id'], 'name': mark}}
    )['transfer']


def _measured(service, share):
    """Note how full the share is, and a point of one series."""
    row = share_usage.Measured(share['id'], timeutils.utcnow(), 1, 2, 0, 1, 50.0)
    with service.services.db.writer() as conn:
        share_usage.store(conn, [row], SERIES[1:2])
        usage_sums.store(conn, 'test@alpha', row.measured_at, SERIES[1:2])


def _snapshot(owner, share, mark):
    snapshot = owner.ok(
        'POST',
        '/snapshots',
        {'snapshot': {'share_id': share['id'], 'name': mark, 'description': mark, 'metadata': {'key': mark}}},
    )['snapshot']
    return owner.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')


def _snapshot_export(owner, snapshot):
    """Allow access to a snapshot, wait for that, and return its first export location."""
    path = f'/snapshots/{snapshot["id"]}'
    owner.ok(
        'POST', f'{path}/action', {'allow_access': {'access_type': 'user', 'access_to': snapshot['name']}}
    )
    waiting.until(
        lambda: (
            [rule['state'] for rule in owner.ok('GET', f'{path}/access-list')['snapshot_access_list']]
            == ['active']
        ),
        lambda: owner.ok('GET', f'{path}/access-list'),
    )
    return owner.ok('GET', f'{path}/export-locations')['share_snapshot_export_locations'][0]


def _instance(admin, snapshot):
    return admin.ok('GET', f'/snapshot-instances?snapshot_id={snapshot["id"]}')['snapshot_instances'][0]


def _schedule(owner, share, mark):
    values = {'name': mark, 'cron': '0 3 * * *', 'name_prefix': mark, 'share_ids': [share['id']]}
    return owner.ok('POST', '/schedules', {'schedule': values})['schedule']


def _rule(owner, share, mark):
    status, document, _ = owner.action(
        share['id'],
        'allow_access',
        {'access_type': 'user', 'access_to': mark, 'access_level': 'rw', 'metadata': {'key': mark}},
    )
    if status != 200:
        raise AssertionError(document)
    return owner.wait(f'/share-access-rules/{document["access"]["id"]}', 'access', 'active', field='state')


def _lock(owner, rule, mark):
    return owner.ok(
        'POST',
        '/resource-locks',
        {
            'resource_lock': {
                'resource_id': rule['id'],
                'resource_type': 'access_rule',
                'resource_action': 'show',
                'lock_reason': mark,
            }
        },
    )['resource_lock']


def _message(owner):
    owner.share(wait='error', size=900)  # larger than the pool, so that the owner gets a user message
    return owner.ok('GET', '/messages')['messages'][0]


def _qos_type(admin, mark):
    return admin.ok(
        'POST', '/qos-types', {'qos_type': {'name': mark, 'description': mark, 'specs': {'key': mark}}}
    )['qos_type']


def _private_type(admin, project, mark):
    made = admin.ok(
        'POST',
        '/types',
        {
            'share_type': {
                'name': f'private-{mark}',
                'share_type_access:is_public': False,
                'extra_specs': {'driver_handles_share_servers': 'False', 'key': mark},
            }
        },
    )['share_type']
    admin.ok('POST', f'/types/{made["id"]}/action', {'addProjectAccess': {'project': project}})
    return made


def _network(owner, mark):
    network = owner.ok('POST', '/share-networks', {'share_network': {'name': mark, 'description': mark}})[
        'share_network'
    ]
    path = f'/share-networks/{network["id"]}'
    subnet = owner.ok('POST', f'{path}/subnets', {'share-network-subnet': {'metadata': {'key': mark}}})
    values = {
        'type': 'kerberos',
        **dict.fromkeys(('name', 'description', 'server', 'domain', 'user', 'password'), mark),
    }
    service = owner.ok('POST', '/security-services', {'security_service': values})['security_service']
    owner.ok('POST', f'{path}/action', {'add_security_service': {'security_service_id': service['id']}})
    other = owner.ok('POST', '/security-services', {'security_service': values})['security_service']
    return {
        'share_network_id': network['id'],
        'share_network_subnet_id': subnet['share_network_subnet']['id'],
        'security_service_id': service['id'],
        'current_service_id': service['id'],
        'new_service_id': other['id'],
    }


def _group(admin, owner, project, mark):
    named = {'name': mark, 'description': mark}
    kind, plain = (
        admin.ok(
            'POST',
            '/share-group-types',
            {
                'share_group_type': {
                    'name': f'{name}-{mark}',
                    'is_public': False,
                    'share_types': ['default'],
                    'group_specs': specs,
                }
            },
        )['share_group_type']['id']
        for name, specs in (('private', {'key': mark}), ('plain', {}))
    )  # no pool fits the first group type
    for group_type_id in (kind, plain):
        admin.ok(
            'POST', f'/share-group-types/{group_type_id}/action', {'addProjectAccess': {'project': project}}
        )
    group = owner.ok('POST', '/share-groups', {'share_group': {'share_group_type_id': plain, **named}})[
        'share_group'
    ]['id']
    owner.wait(f'/share-groups/{group}', 'share_group', 'available')
    owner.share(share_group_id=group, name=mark)
    snapshot = owner.ok(
        'POST', '/share-group-snapshots', {'share_group_snapshot': {'share_group_id': group, **named}}
    )
    snapshot = snapshot['share_group_snapshot']['id']
    owner.wait(f'/share-group-snapshots/{snapshot}', 'share_group_snapshot', 'available')
    return {
        'share_group_type_id': kind,
        'share_group_id': group,
        'share_group_snapshot_id': snapshot,
        'source_share_group_snapshot_id': snapshot,
    }


def _replica(service, owner, mark):
    share = owner.share(name=mark)
    with service.services.db.writer() as conn:
        [replica_id] = replicas.replicable(conn, [share['id']])
    owner.ok('POST', f'/share-replicas/{replica_id}/metadata', {'metadata': {'key': mark}})
    [export, *_] = owner.ok('GET', f'/share-replicas/{replica_id}/export-locations')['export_locations']
    return {'share_replica_id': replica_id, 'replica_export_location_id': export['id']}


def _backup(service, owner, mark):
    share = owner.share(name=mark)
    with service.services.db.writer() as conn:
        [resource_id] = backups.of(conn, [share['id']], mark)
    return resource_id


def _server(service, project):
    """Create a share server in a network of its own, so that the share network of the world can be changed."""
    with service.services.db.writer() as conn:
        ((*_, server),) = networks.make(conn, 1, project=project)
    return server
