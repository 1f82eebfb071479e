# SPDX-License-Identifier: Apache-2.0
"""Subnets of share networks."""

from manila_lite.policies.base import MEMBER, READER, rule

CREATE = 'share_network_subnet:create'
DELETE = 'share_network_subnet:delete'
SHOW = 'share_network_subnet:show'
INDEX = 'share_network_subnet:index'
GET_METADATA = 'share_network_subnet:get_metadata'
UPDATE_METADATA = 'share_network_subnet:update_metadata'
DELETE_METADATA = 'share_network_subnet:delete_metadata'

_ALL = '/share-networks/{share_network_id}/subnets'
_ONE = f'{_ALL}/{{share_network_subnet_id}}'

RULES = [
    rule(CREATE, MEMBER, 'Add a subnet to a share network.', f'POST {_ALL}'),
    rule(DELETE, MEMBER, 'Remove a subnet from a share network.', f'DELETE {_ONE}'),
    rule(SHOW, READER, 'Show a subnet of a share network.', f'GET {_ONE}'),
    rule(INDEX, READER, 'List the subnets of a share network.', f'GET {_ALL}'),
    rule(
        GET_METADATA,
        READER,
        'Show metadata of a subnet.',
        f'GET {_ONE}/metadata',
        f'GET {_ONE}/metadata/{{key}}',
    ),
    rule(
        UPDATE_METADATA,
        MEMBER,
        'Set metadata of a subnet.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'POST {_ONE}/metadata/{{key}}',
    ),
    rule(DELETE_METADATA, MEMBER, 'Delete metadata of a subnet.', f'DELETE {_ONE}/metadata/{{key}}'),
]
