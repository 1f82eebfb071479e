# SPDX-License-Identifier: Apache-2.0
"""Share replicas."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_ONE = '/share-replicas/{share_replica_id}'
_ACTION = f'POST {_ONE}/action'
_EXPORTS = f'GET {_ONE}/export-locations'
_PAIR = f'{_ONE}/metadata/{{key}}'

RULES = [
    rule('share_replica:create', MEMBER, 'Create a replica of a share.', 'POST /share-replicas'),
    rule(
        'share_replica:get_all',
        READER,
        'List share replicas.',
        'GET /share-replicas',
        'GET /share-replicas/detail',
    ),
    rule('share_replica:show', READER, 'Show a share replica.', f'GET {_ONE}'),
    rule('share_replica:delete', MEMBER, 'Delete a share replica.', f'DELETE {_ONE}'),
    rule(
        'share_replica:force_delete',
        ADMIN,
        'Delete a share replica in any status, even if its backend cannot delete it.',
        _ACTION,
    ),
    rule('share_replica:promote', MEMBER, 'Promote a share replica to the active one.', _ACTION),
    rule('share_replica:resync', ADMIN, 'Update a share replica from the active one.', _ACTION),
    rule('share_replica:reset_status', ADMIN, 'Reset the status of a share replica by hand.', _ACTION),
    rule(
        'share_replica:reset_replica_state',
        ADMIN,
        'Reset the replica state of a share replica by hand.',
        _ACTION,
    ),
    rule(
        'share_replica:get_share_replica_metadata',
        READER,
        'Show metadata of a share replica.',
        f'GET {_ONE}/metadata',
        f'GET {_PAIR}',
    ),
    rule(
        'share_replica:update_share_replica_metadata',
        MEMBER,
        'Set metadata of a share replica.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'POST {_PAIR}',
    ),
    rule(
        'share_replica:delete_share_replica_metadata',
        MEMBER,
        'Delete metadata of a share replica.',
        f'DELETE {_PAIR}',
    ),
    rule(
        'share_replica_export_location:index',
        READER,
        'List the export locations of a share replica.',
        _EXPORTS,
    ),
    rule(
        'share_replica_export_location:show',
        READER,
        'Show an export location of a share replica.',
        f'{_EXPORTS}/{{replica_export_location_id}}',
    ),
]
