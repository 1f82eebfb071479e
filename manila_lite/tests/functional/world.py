# SPDX-License-Identifier: Apache-2.0
"""One of everything, owned by one project, and bodies that fit: what tests that walk the contract send."""

from manila_lite.tests.factories import networks

#: Values that a schema alone does not tell, by field.
_VALUES = {'size': 1, 'new_size': 2, 'share_proto': 'NFS', 'status': 'error', 'access_type': 'ip', 'access_to': '10.0.0.8',
           'access_level': 'ro', 'name': 'some-name', 'extra_specs': {'driver_handles_share_servers': 'False'},
           'metadata': {'key': 'value'}, 'meta': {'key': 'value'}}


def make(service, admin, owner):
    """Make one resource of each kind as ``owner``; returns the values of path parameters, by name."""
    share = owner.share(name='first', metadata={'key': 'value'})
    path = f'/shares/{share["id"]}'
    found = {
        'share_id': share['id'],
        'snapshot_id': _snapshot(owner, share)['id'],
        'access_id': _rule(owner, share)['id'],
        'export_location_id': owner.ok('GET', f'{path}/export_locations')['export_locations'][0]['id'],
        'share_instance_id': admin.ok('GET', f'{path}/instances')['share_instances'][0]['id'],
        'message_id': _message(owner)['id'],
        'type_id': _private_type(admin)['id'],
        **_network(owner),
        'share_server_id': _server(service, share['project_id']),
        'operation_id': owner.ok('GET', f'/operations?resource_id={share["id"]}')['operations'][0]['id'],
        'quota_project_id': share['project_id'],
        'class_name': 'default',
        'alias': 'nothing',
        'key': 'key',
    }
    owner.ok('POST', f'{path}/export_locations/{found["export_location_id"]}/metadata', {'metadata': {'key': 'value'}})
    return found


def body(op, version, found):
    """Return a body for a call, or nothing where it takes none. ``found``: see :func:`make`."""
    entity = op.body_at(version)
    return None if entity is None else _sample(entity.schema(version), '', {**_VALUES, **found})


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


def _snapshot(owner, share):
    snapshot = owner.ok('POST', '/snapshots', {'snapshot': {
        'share_id': share['id'], 'name': 'first', 'metadata': {'key': 'value'}}})['snapshot']
    return owner.wait(f'/snapshots/{snapshot["id"]}', 'snapshot', 'available')


def _rule(owner, share):
    status, document, _ = owner.action(share['id'], 'allow_access', {
        'access_type': 'ip', 'access_to': '10.0.0.9', 'access_level': 'rw', 'metadata': {'key': 'value'}})
    if status != 200:
        raise AssertionError(document)
    return owner.wait(f'/share-access-rules/{document["access"]["id"]}', 'access', 'active', field='state')


def _message(owner):
    owner.share(wait='error', size=900)     # more than the pool holds, which its owner is told
    return owner.ok('GET', '/messages')['messages'][0]


def _private_type(admin):
    return admin.ok('POST', '/types', {'share_type': {
        'name': 'private', 'share_type_access:is_public': False, 'extra_specs': {
            'driver_handles_share_servers': 'False', 'key': 'value'}}})['share_type']


def _network(owner):
    network = owner.ok('POST', '/share-networks', {'share_network': {'name': 'first'}})['share_network']
    path = f'/share-networks/{network["id"]}'
    subnet = owner.ok('POST', f'{path}/subnets', {'share-network-subnet': {'metadata': {'key': 'value'}}})
    service = owner.ok('POST', '/security-services', {'security_service': {'type': 'kerberos'}})['security_service']
    owner.ok('POST', f'{path}/action', {'add_security_service': {'security_service_id': service['id']}})
    other = owner.ok('POST', '/security-services', {'security_service': {'type': 'kerberos'}})['security_service']
    return {'share_network_id': network['id'], 'share_network_subnet_id': subnet['share_network_subnet']['id'],
            'security_service_id': service['id'], 'current_service_id': service['id'], 'new_service_id': other['id']}


def _server(service, project):
    """A server in a network of its own, so that the other one can be changed."""
    with service.services.db.writer() as conn:
        (*_, server), = networks.make(conn, 1, project=project)
    return server
