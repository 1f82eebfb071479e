# SPDX-License-Identifier: Apache-2.0
"""Share networks."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_ACTION = 'POST /share-networks/{share_network_id}/action'

RULES = [
    rule('share_network:create', MEMBER, 'Create a share network.', 'POST /share-networks'),
    rule('share_network:show', READER, 'Show a share network.', 'GET /share-networks/{share_network_id}'),
    rule('share_network:index', READER, 'List ids and names of share networks.', 'GET /share-networks'),
    rule('share_network:detail', READER, 'List share networks.', 'GET /share-networks/detail'),
    rule(
        'share_network:get_all_share_networks',
        ADMIN,
        'List the share networks of all projects.',
        'GET /share-networks?all_tenants=1',
        'GET /share-networks/detail?all_tenants=1',
    ),
    rule('share_network:update', MEMBER, 'Change a share network.', 'PUT /share-networks/{share_network_id}'),
    rule(
        'share_network:delete', MEMBER, 'Delete a share network.', 'DELETE /share-networks/{share_network_id}'
    ),
    rule('share_network:add_security_service', MEMBER, 'Add a security service to a share network.', _ACTION),
    rule(
        'share_network:remove_security_service',
        MEMBER,
        'Remove a security service from a share network.',
        _ACTION,
    ),
    rule(
        'share_network:add_security_service_check',
        MEMBER,
        'Check whether a security service can be added to a share network in use.',
        _ACTION,
    ),
    rule(
        'share_network:update_security_service',
        MEMBER,
        'Replace a security service of a share network by another one.',
        _ACTION,
    ),
    rule(
        'share_network:update_security_service_check',
        MEMBER,
        'Check whether a security service of a share network in use can be replaced by another one.',
        _ACTION,
    ),
    rule('share_network:reset_status', ADMIN, 'Reset the status of a share network by hand.', _ACTION),
    rule(
        'share_network:subnet_create_check',
        MEMBER,
        'Check whether a subnet can be added to a share network.',
        _ACTION,
    ),
    rule(
        'share_network:show_network_details',
        ADMIN,
        'Show network type and segmentation id of the networks of a share network.',
        'GET /share-networks/{share_network_id}',
        'GET /share-networks/detail',
    ),
]
