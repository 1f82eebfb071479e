# SPDX-License-Identifier: Apache-2.0
"""Share networks."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'share_network:create'
SHOW = 'share_network:show'
INDEX = 'share_network:index'
DETAIL = 'share_network:detail'
LIST_ALL_PROJECTS = 'share_network:get_all_share_networks'
UPDATE = 'share_network:update'
DELETE = 'share_network:delete'
ADD_SECURITY_SERVICE = 'share_network:add_security_service'
REMOVE_SECURITY_SERVICE = 'share_network:remove_security_service'
ADD_SECURITY_SERVICE_CHECK = 'share_network:add_security_service_check'
UPDATE_SECURITY_SERVICE = 'share_network:update_security_service'
UPDATE_SECURITY_SERVICE_CHECK = 'share_network:update_security_service_check'
RESET_STATUS = 'share_network:reset_status'
SUBNET_CHECK = 'share_network:subnet_create_check'
SHOW_DETAILS = 'share_network:show_network_details'

_ACTION = 'POST /share-networks/{share_network_id}/action'

RULES = [
    rule(CREATE, MEMBER, 'Create a share network.', 'POST /share-networks'),
    rule(SHOW, READER, 'Show a share network.', 'GET /share-networks/{share_network_id}'),
    rule(INDEX, READER, 'List ids and names of share networks.', 'GET /share-networks'),
    rule(DETAIL, READER, 'List share networks.', 'GET /share-networks/detail'),
    rule(
        LIST_ALL_PROJECTS,
        ADMIN,
        'List the share networks of all projects.',
        'GET /share-networks?all_tenants=1',
        'GET /share-networks/detail?all_tenants=1',
    ),
    rule(UPDATE, MEMBER, 'Change a share network.', 'PUT /share-networks/{share_network_id}'),
    rule(DELETE, MEMBER, 'Delete a share network.', 'DELETE /share-networks/{share_network_id}'),
    rule(ADD_SECURITY_SERVICE, MEMBER, 'Add a security service to a share network.', _ACTION),
    rule(REMOVE_SECURITY_SERVICE, MEMBER, 'Remove a security service from a share network.', _ACTION),
    rule(
        ADD_SECURITY_SERVICE_CHECK,
        MEMBER,
        'Check whether a security service can be added to a share network in use.',
        _ACTION,
    ),
    rule(
        UPDATE_SECURITY_SERVICE,
        MEMBER,
        'Replace a security service of a share network by another one.',
        _ACTION,
    ),
    rule(
        UPDATE_SECURITY_SERVICE_CHECK,
        MEMBER,
        'Check whether a security service of a share network in use can be replaced by another one.',
        _ACTION,
    ),
    rule(RESET_STATUS, ADMIN, 'Reset the status of a share network by hand.', _ACTION),
    rule(SUBNET_CHECK, MEMBER, 'Check whether a subnet can be added to a share network.', _ACTION),
    rule(
        SHOW_DETAILS,
        ADMIN,
        'Show network type and segmentation id of the networks of a share network.',
        'GET /share-networks/{share_network_id}',
        'GET /share-networks/detail',
    ),
]
