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
    rule(SHOW, READER, 'See a share network.', 'GET /share-networks/{share_network_id}'),
    rule(INDEX, READER, 'List ids and names of share networks.', 'GET /share-networks'),
    rule(DETAIL, READER, 'List share networks.', 'GET /share-networks/detail'),
    rule(LIST_ALL_PROJECTS, ADMIN, 'List the share networks of all projects.', 'GET /share-networks?all_tenants=1',
         'GET /share-networks/detail?all_tenants=1'),
    rule(UPDATE, MEMBER, 'Change a share network.', 'PUT /share-networks/{share_network_id}'),
    rule(DELETE, MEMBER, 'Delete a share network.', 'DELETE /share-networks/{share_network_id}'),
    rule(ADD_SECURITY_SERVICE, MEMBER, 'Let a share network use a security service.', _ACTION),
    rule(REMOVE_SECURITY_SERVICE, MEMBER, 'Let a share network no longer use a security service.', _ACTION),
    rule(ADD_SECURITY_SERVICE_CHECK, MEMBER, 'Ask whether a share network in use can use one more security service.', _ACTION),
    rule(UPDATE_SECURITY_SERVICE, MEMBER, 'Let a share network use another security service in place of one.', _ACTION),
    rule(UPDATE_SECURITY_SERVICE_CHECK, MEMBER,
         'Ask whether a share network in use can use another security service in place of one.', _ACTION),
    rule(RESET_STATUS, ADMIN, "Set a share network's status by hand.", _ACTION),
    rule(SUBNET_CHECK, MEMBER, 'Ask whether a subnet can be added to a share network.', _ACTION),
    rule(SHOW_DETAILS, ADMIN, "See type and segmentation id of a share network's networks.",
         'GET /share-networks/{share_network_id}', 'GET /share-networks/detail'),
]
