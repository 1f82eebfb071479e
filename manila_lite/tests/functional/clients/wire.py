# SPDX-License-Identifier: Apache-2.0
"""Requirements of Go clients, Terraform and others on the answers, row by row, with the requests that they send."""

import re

from manila_lite.tests.functional.clients.exchange import (
    ABSENT,
    ADMIN,
    BOTH,
    TIME,
    UUID,
    VERSION,
    Ask,
    Row,
    act,
    get,
    gone,
    wait,
)

_MADE = Ask(
    'POST',
    '/shares',
    (200, 201),
    {'share': {'share_proto': 'NFS', 'size': 1, 'name': 'pvc-1', 'metadata': {'k': 'v'}}},
    headers=BOTH,
    keeps={'share': 'share.id'},
    holds={'share.id': UUID, 'share.created_at': TIME},
)
_READY = wait('/shares/$share', 'share.status', 'available', 'creating')
_SHARE = (_MADE, _READY)
_GONE = gone('/shares/$share', 'share', 'available')
_VERSIONS = (
    ('versions.0.id', 'v2.0'),
    ('versions.0.status', 'CURRENT'),
    ('versions.0.version', VERSION),
    ('versions.0.min_version', '2.0'),
    ('versions.1', ABSENT),
)
_RESOURCE_TYPES = (
    'shares',
    'snapshots',
    'types',
    'share-networks',
    'security-services',
    'share-servers',
    'messages',
    'share_instances',
    'share-access-rules',
    'snapshot-instances',
)


_ON = ('new', 'queued_to_apply', 'applying')
_RULE = {'access_type': 'ip', 'access_to': '10.0.0.1', 'access_level': 'rw'}


def _granted(version, *through):
    """Return the requests of Terraform to grant and revoke access, with the states that it accepts meanwhile."""
    listed = {
        'method': 'POST',
        'path': '/shares/$share/action',
        'body': {'access_list': None},
        'version': version,
    }
    return (
        *_SHARE,
        act('allow_access', _RULE, 200, ('access.id', UUID), keeps={'rule': 'access.id'}, version=version),
        Ask(**listed, holds={'access_list.0.state': 'active'}, through=through),
        act('deny_access', {'access_id': '$rule'}, 202, version=version),
        Ask(
            **listed,
            holds={'access_list.0.state': ABSENT},
            through=('active', 'new', *(() if version != '2.28' else ('queued_to_deny', 'denying'))),
        ),
    )


#: The first requests of each client, before its first share.
HANDSHAKE = (
    Row(
        'GET / answers 300 with the one version',
        'python-manilaclient, openstack, limes',
        (get('/', *_VERSIONS, status=300, prefix='', version=None),),
    ),
    Row(
        'GET /v2/ answers 200 with exactly one version',
        'manila-csi, Terraform, Velero',
        (get('/', *_VERSIONS, version=None), get('', *_VERSIONS, version=None)),
    ),
    Row(
        'Versions are two numbers, and CSI gets 2.37',
        'manila-csi',
        (get('/', ('versions.0.version', VERSION), version=None), get('/shares', version='2.37')),
    ),
    Row(
        "The header of microversions is Manila's; OpenStack-API-Version is let pass",
        'gophercloud',
        (
            get('/shares/detail', headers=BOTH, says={'X-OpenStack-Manila-API-Version': '2.37'}),
            get(
                '/shares/detail',
                headers={'OpenStack-API-Version': 'sharev2 2.37'},
                version=None,
                says={'X-OpenStack-Manila-API-Version': '2.0'},
            ),
        ),
    ),
    Row(
        'Each answer has the version, Vary and both request ids',
        'all',
        (
            get(
                '/shares',
                says={
                    'X-OpenStack-Manila-API-Version': '2.37',
                    'Vary': 'X-OpenStack-Manila-API-Version',
                    'x-openstack-request-id': 'req-.+',
                    'x-compute-request-id': 'req-.+',
                },
            ),
            get(
                '/shares/12345',
                status=404,
                says={'x-openstack-request-id': 'req-.+', 'x-compute-request-id': 'req-.+'},
            ),
        ),
    ),
    Row(
        'A version out of range is 406',
        'ci-framework',
        (get('/shares', status=406, version='2.999'), get('/shares', status=406, version='3.0')),
    ),
    Row(
        'What is experimental is there with its header, and, where Manila has nothing then, also without',
        'openstack',
        tuple(
            ask
            for headers in ({}, {'X-OpenStack-Manila-API-Experimental': 'true'})
            for ask in (
                *_SHARE,
                act(
                    'migration_get_progress',
                    None,
                    400,
                    ('badRequest.reason', 'not_migrating'),
                    version='2.95',
                    roles=ADMIN,
                    headers=headers,
                ),
                act(
                    'migration_get_progress',
                    None,
                    400,
                    ('badRequest.reason', 'share_server_not_found'),
                    of='/share-servers/1',
                    version='2.57',
                    roles=ADMIN,
                    headers=headers,
                ),
            )
        ),
    ),
    Row(
        'URLs with and without the project',
        'all, as the catalog says',
        (
            get('/$project/shares/detail', ('shares', list), version='2.7'),
            get('/shares/detail', ('shares', list)),
        ),
    ),
    Row(
        'The catalog has shared-file-system and sharev2',
        'all',
        elsewhere='functional.identity.test_keystone:test_every_catalog_type_reaches_the_api',
    ),
    Row(
        'An endpoint is enough, without a catalog',
        'openstack, newcomers',
        elsewhere='functional.clients.test_commands:test_each_role_by_name',
    ),
    Row(
        'A name that looks like a number is 404',
        'openstack',
        tuple(
            get(f'/{resource_type}/12345', status=404, roles=ADMIN, version='2.82')
            for resource_type in _RESOURCE_TYPES
        ),
    ),
    Row(
        'GET /types/default',
        'openstack share create',
        (get('/types/default', ('share_type.name', 'default'), ('share_type.id', UUID)),),
    ),
    Row(
        'Status codes that gophercloud takes',
        'gophercloud; Nova wants 202 of deny',
        (
            *_SHARE,
            act('allow_access', _RULE, 200, keeps={'rule': 'access.id'}),
            act('deny_access', {'access_id': '$rule'}, 202),
            wait(
                '/share-access-rules?share_id=$share',
                'access_list.0.state',
                ABSENT,
                'active',
                'queued_to_deny',
                'denying',
                *_ON,
                version='2.45',
            ),
            act('extend', {'new_size': 2}, 202),
            wait('/shares/$share', 'share.status', 'available', 'extending'),
            act('shrink', {'new_size': 1}, 202),
            wait('/shares/$share', 'share.status', 'available', 'shrinking'),
            act('reset_status', {'status': 'available'}, 202, roles=ADMIN),
            Ask('POST', '/shares/$share/metadata', 200, {'metadata': {'a': 'b'}}, holds={'metadata.a': 'b'}),
            Ask(
                'PUT',
                '/shares/$share/metadata',
                200,
                {'metadata': {'c': 'd'}},
                holds={'metadata': {'c': 'd'}},
            ),
            Ask('DELETE', '/shares/$share/metadata/c', 200),
            Ask(
                'POST',
                '/snapshots',
                (200, 201, 202),
                {'snapshot': {'share_id': '$share'}},
                keeps={'snapshot': 'snapshot.id'},
            ),
            wait('/snapshots/$snapshot', 'snapshot.status', 'available', 'creating'),
            act('revert', {'snapshot_id': '$snapshot'}, 202),
            wait('/shares/$share', 'share.status', 'available', 'reverting'),
            Ask('DELETE', '/snapshots/$snapshot', 202),
            gone('/snapshots/$snapshot', 'snapshot', 'available'),
            act('unmanage', None, 202, roles=ADMIN),
            gone('/shares/$share', 'share', 'available', 'unmanage_starting'),
            *_SHARE,
            act('force_delete', None, 202, roles=ADMIN),
            _GONE,
            Ask('POST', '/share-networks', (200, 202), {'share_network': {'name': 'n', 'description': ''}}),
            Ask(
                'POST',
                '/types',
                (200, 202),
                {
                    'share_type': {
                        'name': '$unique',
                        'extra_specs': {'driver_handles_share_servers': False},
                        'os-share-type-access:is_public': True,
                    }
                },
                roles=ADMIN,
                version='2.6',
            ),
        ),
    ),
    Row(
        'Times have microseconds and no zone',
        'gophercloud',
        (
            *_SHARE,
            get('/shares/$share', ('share.created_at', TIME)),
            get('/availability-zones', ('availability_zones.0.created_at', TIME)),
            get('/services', ('services.0.updated_at', TIME), roles=ADMIN),
        ),
    ),
    Row(
        'The filter metadata is a literal of Python, or JSON',
        'gophercloud, Terraform, OpenShift',
        (
            *_SHARE,
            get("/shares/detail?metadata={'k':'v'}&name=pvc-1", ('shares.0.id', '$share')),
            get('/shares/detail?metadata={"k":"v"}', ('shares.0.id', UUID)),
            get("/shares/detail?metadata={'k':'v', 'other':'x'}", ('shares', [])),
            get('/shares/detail?metadata=__import__', status=400),
        ),
    ),
    Row(
        'Capacities are numbers or words',
        'gophercloud, exporters',
        (
            get(
                '/scheduler-stats/pools/detail',
                ('pools.0.capabilities.total_capacity_gb', (int, float, str)),
                ('pools.0.capabilities.free_capacity_gb', (int, float, str)),
                roles=ADMIN,
            ),
        ),
    ),
    Row(
        'Pages by limit and offset',
        'gophercloud',
        (
            *_SHARE,
            *_SHARE,
            get('/shares/detail?limit=1', ('shares.0.id', UUID), ('shares.1', ABSENT)),
            get('/shares/detail?limit=1&offset=1', ('shares.0.id', UUID), ('shares.1', ABSENT)),
            get('/shares/detail?limit=1&offset=1000', ('shares', [])),
        ),
    ),
    Row(
        'A page after the last one, at the greatest number',
        'gophercloud: lists of share networks',
        (
            get('/share-networks/detail?offset=9223372036854775807', ('share_networks', [])),
            get('/snapshots/detail?limit=1&offset=9223372036854775807', ('snapshots', [])),
        ),
    ),
)

#: Requests that clients had trouble with.
TRAPS = (
    Row(
        'Terraform deletes through deleting and available',
        'Terraform',
        (
            *_SHARE,
            Ask('DELETE', '/shares/$share', 202, version=None),
            gone('/shares/$share', 'share', 'available', version=None),
        ),
    ),
    Row(
        'Terraform creates through creating, resizes through extending and shrinking',
        'Terraform',
        (
            *_SHARE,
            act('extend', {'new_size': 3}, 202, version='2.14'),
            wait('/shares/$share', 'share.status', 'available', 'extending', version='2.14'),
            act('shrink', {'new_size': 2}, 202, version='2.14'),
            wait('/shares/$share', 'share.status', 'available', 'shrinking', version='2.14'),
        ),
    ),
    Row(
        'Terraform grants through new, and from 2.28 on through applying',
        'Terraform',
        (*_granted('2.7', 'new'), *_granted('2.21', 'new'), *_granted('2.28', *_ON)),
    ),
    Row(
        'CSI knows creating, creating_from_snapshot and extending on the way',
        'manila-csi',
        (
            *_SHARE,
            Ask(
                'POST',
                '/snapshots',
                (200, 201, 202),
                {'snapshot': {'share_id': '$share', 'name': 's'}},
                keeps={'snapshot': 'snapshot.id'},
            ),
            wait('/snapshots/$snapshot', 'snapshot.status', 'available', 'creating'),
            Ask(
                'POST',
                '/shares',
                (200, 201),
                {'share': {'share_proto': 'NFS', 'size': 1, 'snapshot_id': '$snapshot'}},
                keeps={'share': 'share.id'},
            ),
            wait('/shares/$share', 'share.status', 'available', 'creating', 'creating_from_snapshot'),
            act('extend', {'new_size': 2}, 202),
            wait('/shares/$share', 'share.status', 'available', 'extending'),
            get('/snapshots/detail?name=s', ('snapshots.0.id', '$snapshot')),
        ),
    ),
    Row(
        'CSI finds its share by its exact name',
        'manila-csi',
        (
            *_SHARE,
            Ask('POST', '/shares', 200, {'share': {'share_proto': 'NFS', 'size': 1, 'name': 'pvc-10'}}),
            Ask('POST', '/shares', 200, {'share': {'share_proto': 'NFS', 'size': 1, 'name': 'PVC-1'}}),
            get('/shares/detail?name=pvc-1', ('shares.0.id', '$share'), ('shares.1', ABSENT)),
        ),
    ),
    Row(
        'A create that is sent twice with one Idempotency-Key makes one share',
        'manila-csi after a time-out',
        tuple(
            Ask(
                'POST',
                '/shares',
                200,
                {'share': {'share_proto': 'NFS', 'size': 1, 'name': 'once'}},
                headers={'Idempotency-Key': '$unique'},
                **more,
            )
            for more in ({'keeps': {'share': 'share.id'}}, {'holds': {'share.id': '$share'}})
        ),
    ),
    Row(
        'CSI needs both snapshot capabilities in the share',
        'manila-csi',
        (
            *_SHARE,
            get(
                '/shares/$share',
                ('share.snapshot_support', True),
                ('share.create_share_from_snapshot_support', True),
            ),
        ),
    ),
    Row(
        'The keys of a share that gophercloud reads',
        'Go clients',
        (
            *_SHARE,
            get(
                '/shares/$share',
                ('share.share_type', UUID),
                ('share.share_type_name', 'default'),
                ('share.share_group_id', None),
                ('share.is_public', False),
                ('share.has_replicas', False),
                ('share.share_server_id', None),
                ('share.snapshot_support', True),
                ('share.create_share_from_snapshot_support', True),
                ('share.metadata', {'k': 'v'}),
                roles=ADMIN,
            ),
        ),
    ),
    Row(
        'Nova grants with locks, lists as an administrator, and takes away in spite of them',
        'Nova',
        (
            *_SHARE,
            act(
                'allow_access',
                {**_RULE, 'lock_visibility': True, 'lock_deletion': True, 'lock_reason': 'Lock by nova'},
                200,
                ('access.access_to', '10.0.0.1'),
                ('access.access_key', None),
                keeps={'rule': 'access.id'},
                roles='service',
                version='2.82',
            ),
            wait(
                '/share-access-rules?share_id=$share',
                'access_list.0.state',
                'active',
                *_ON,
                version='2.82',
                roles=ADMIN,
            ),
            Ask('DELETE', '/shares/$share', 403, version='2.82'),
            act('deny_access', {'access_id': '$rule'}, 403, version='2.82', roles='service'),
            act(
                'deny_access',
                {'access_id': '$rule', 'unrestrict': True},
                202,
                version='2.82',
                roles='service',
            ),
        ),
    ),
    Row(
        'The preferred export location is first',
        'Nova, Terraform',
        (
            *_SHARE,
            get(
                '/shares/$share/export_locations',
                ('export_locations.0.preferred', True),
                ('export_locations.1.preferred', False),
            ),
        ),
    ),
    Row(
        'Types without a header have os-share-type-access',
        'OpenShift, exporters',
        (get('/types', ('share_types.0.os-share-type-access:is_public', True), version=None),),
    ),
    Row(
        'manila-ui names the zone of a share network, and of a subnet, by its id',
        'manila-ui',
        (
            get(
                '/availability-zones',
                keeps={'zone': 'availability_zones.0.id', 'place': 'availability_zones.0.name'},
                version='2.87',
            ),
            Ask(
                'POST',
                '/share-networks',
                (200, 202),
                {'share_network': {'name': 'n', 'description': '', 'availability_zone': '$zone'}},
                keeps={'network': 'share_network.id'},
                holds={'share_network.share_network_subnets.0.availability_zone': '$place'},
                version='2.87',
            ),
            Ask(
                'POST',
                '/share-networks/$network/subnets',
                (200, 202),
                {'share-network-subnet': {'availability_zone': '$zone'}},
                holds={'share_network_subnet.availability_zone': '$place'},
                version='2.87',
            ),
            Ask(
                'POST',
                '/share-networks',
                400,
                {'share_network': {'name': 'n', 'availability_zone': '$network'}},
                holds={'badRequest.reason': 'availability_zone_not_found'},
                version='2.87',
            ),
        ),
    ),
    Row(
        'manila-ui finds messages, locks and metadata of locations at 2.87',
        'manila-ui',
        (
            *_SHARE,
            get('/messages', ('messages', list), version='2.87'),
            get('/resource-locks', ('resource_locks', list), version='2.87'),
            get(
                '/shares/$share/export_locations',
                ('export_locations.0.metadata', dict),
                keeps={'location': 'export_locations.0.id'},
                version='2.87',
            ),
            get(
                '/shares/$share/export_locations/$location/metadata',
                ('metadata', dict),
                version='2.87',
                roles=ADMIN,
            ),
        ),
    ),
    Row(
        'Behind a proxy, links begin with the public URL',
        'openstack',
        (
            *_SHARE,
            get(
                '/shares/$share',
                ('share.links.0.href', '$public/v2/shares/$share'),
                headers={
                    'X-Forwarded-Proto': 'https',
                    'X-Forwarded-Host': 'cloud.example.org',
                    'X-Forwarded-Prefix': '/share',
                },
            ),
            get(
                '/shares?limit=1',
                ('shares_links.0.href', '$public/v2/shares?limit=1&offset=1'),
                headers={
                    'X-Forwarded-Proto': 'https',
                    'X-Forwarded-Host': 'cloud.example.org',
                    'X-Forwarded-Prefix': '/share',
                },
            ),
        ),
    ),
)

_ID = {'x-openstack-request-id': 'req-.+'}
_SAID = re.compile('.+ .+')


def _refused(name, status, method='GET', path='/shares', **more):
    return Ask(
        method,
        path,
        status,
        says=_ID,
        **more,
        holds={f'{name}.message': _SAID, f'{name}.next': _SAID, f'{name}.reason': re.compile('[a-z_]+')},
    )


#: Information in a refusal that helps its reader.
FAILURES = (
    Row(
        'A refusal has its cause, the next step and the request id',
        'people, and programs that help them',
        (
            *_SHARE,
            _refused('badRequest', 400, 'POST', body={'share': {'share_proto': 'NFS', 'size': 'much'}}),
            _refused('forbidden', 403, path='/services', roles='reader'),
            _refused('itemNotFound', 404, path='/shares/12345'),
            _refused('itemNotFound', 404, path='/no-such-path'),
            _refused('badMethod', 405, 'PATCH'),
            _refused('notAcceptable', 406, version='2.999'),
            _refused(
                'conflictingRequest',
                409,
                'POST',
                '/types',
                roles=ADMIN,
                body={
                    'share_type': {
                        'name': 'default',
                        'extra_specs': {'driver_handles_share_servers': 'False'},
                    }
                },
            ),
            Ask('POST', '/snapshots', 202, {'snapshot': {'share_id': '$share'}}),
            _refused('overLimit', 413, 'POST', '/snapshots', body={'snapshot': {'share_id': '$share'}}),
            _refused('computeFault', 422, 'POST', body={}),
        ),
    ),
    Row(
        'A failure after the answer is a message with the same',
        'Terraform, manila-csi, people',
        (
            Ask(
                'POST',
                '/shares',
                200,
                {'share': {'share_proto': 'NFS', 'size': 900}},
                keeps={'share': 'share.id'},
            ),
            wait('/shares/$share', 'share.status', 'error', 'creating'),
            get(
                '/messages?resource_id=$share',
                (
                    'messages.0.user_message',
                    re.compile(
                        'allocate host: No backend has enough free space.* Ask for less, or ask the operator for more space.'
                    ),
                ),
                ('messages.0.request_id', re.compile('req-.+')),
                ('messages.0.message_level', 'ERROR'),
            ),
        ),
    ),
)
