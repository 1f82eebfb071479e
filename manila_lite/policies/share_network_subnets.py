# SPDX-License-Identifier: Apache-2.0
"""Subnets of share networks."""

from manila_lite.policies.base import MEMBER, READER, rule

_ALL = '/share-networks/{share_network_id}/subnets'
_ONE = f'{_ALL}/{{share_network_subnet_id}}'

RULES = [
    rule('share_network_subnet:create', MEMBER, 'Add a subnet to a share network.', f'POST {_ALL}'),
    rule('share_network_subnet:delete', MEMBER, 'Remove a subnet from a share network.', f'DELETE {_ONE}'),
    rule('share_network_subnet:show', READER, 'Show a subnet of a share network.', f'GET {_ONE}'),
    rule('share_network_subnet:index', READER, 'List the subnets of a share network.', f'GET {_ALL}'),
    rule(
        'share_network_subnet:get_metadata',
        READER,
        'Show metadata of a subnet.',
        f'GET {_ONE}/metadata',
        f'GET {_ONE}/metadata/{{key}}',
    ),
    rule(
        'share_network_subnet:update_metadata',
        MEMBER,
        'Set metadata of a subnet.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'POST {_ONE}/metadata/{{key}}',
    ),
    rule(
        'share_network_subnet:delete_metadata',
        MEMBER,
        'Delete metadata of a subnet.',
        f'DELETE {_ONE}/metadata/{{key}}',
    ),
]
