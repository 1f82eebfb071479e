# SPDX-License-Identifier: Apache-2.0
"""Share replicas."""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

CREATE = 'share_replica:create'
GET_ALL = 'share_replica:get_all'
SHOW = 'share_replica:show'
DELETE = 'share_replica:delete'
FORCE_DELETE = 'share_replica:force_delete'
PROMOTE = 'share_replica:promote'
RESYNC = 'share_replica:resync'
RESET_STATUS = 'share_replica:reset_status'
RESET_REPLICA_STATE = 'share_replica:reset_replica_state'
GET_METADATA = 'share_replica:get_share_replica_metadata'
UPDATE_METADATA = 'share_replica:update_share_replica_metadata'
DELETE_METADATA = 'share_replica:delete_share_replica_metadata'
EXPORT_INDEX = 'share_replica_export_location:index'
EXPORT_SHOW = 'share_replica_export_location:show'

_ONE = '/share-replicas/{share_replica_id}'
_ACTION = f'POST {_ONE}/action'
_EXPORTS = f'GET {_ONE}/export-locations'
_PAIR = f'{_ONE}/metadata/{{key}}'

RULES = [
    rule(CREATE, MEMBER, 'Create a replica of a share.', 'POST /share-replicas'),
    rule(GET_ALL, READER, 'List share replicas.', 'GET /share-replicas', 'GET /share-replicas/detail'),
    rule(SHOW, READER, 'Show a share replica.', f'GET {_ONE}'),
    rule(DELETE, MEMBER, 'Delete a share replica.', f'DELETE {_ONE}'),
    rule(
        FORCE_DELETE,
        ADMIN,
        'Delete a share replica in any status, even if its backend cannot delete it.',
        _ACTION,
    ),
    rule(PROMOTE, MEMBER, 'Promote a share replica to the active one.', _ACTION),
    rule(RESYNC, ADMIN, 'Update a share replica from the active one.', _ACTION),
    rule(RESET_STATUS, ADMIN, 'Reset the status of a share replica by hand.', _ACTION),
    rule(RESET_REPLICA_STATE, ADMIN, 'Reset the replica state of a share replica by hand.', _ACTION),
    rule(GET_METADATA, READER, 'Show metadata of a share replica.', f'GET {_ONE}/metadata', f'GET {_PAIR}'),
    rule(
        UPDATE_METADATA,
        MEMBER,
        'Set metadata of a share replica.',
        f'PUT {_ONE}/metadata',
        f'POST {_ONE}/metadata',
        f'POST {_PAIR}',
    ),
    rule(DELETE_METADATA, MEMBER, 'Delete metadata of a share replica.', f'DELETE {_PAIR}'),
    rule(EXPORT_INDEX, READER, 'List the export locations of a share replica.', _EXPORTS),
    rule(
        EXPORT_SHOW,
        READER,
        'Show an export location of a share replica.',
        f'{_EXPORTS}/{{replica_export_location_id}}',
    ),
]
