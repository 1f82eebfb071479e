# SPDX-License-Identifier: Apache-2.0
"""Snapshot instances: a snapshot at one pool."""

from manila_lite.policies.base import ADMIN, rule

INDEX = 'share_snapshot_instance:index'
DETAIL = 'share_snapshot_instance:detail'
SHOW = 'share_snapshot_instance:show'
RESET_STATUS = 'share_snapshot_instance:reset_status'
EXPORTS = 'share_snapshot_instance_export_location:index'
EXPORT = 'share_snapshot_instance_export_location:show'

_ONE = '/snapshot-instances/{snapshot_instance_id}'

RULES = [
    rule(INDEX, ADMIN, 'List snapshot instances.', 'GET /snapshot-instances'),
    rule(DETAIL, ADMIN, 'List snapshot instances with details.', 'GET /snapshot-instances/detail'),
    rule(SHOW, ADMIN, 'Show a snapshot instance.', f'GET {_ONE}'),
    rule(RESET_STATUS, ADMIN, 'Reset the status of a snapshot instance by hand.', f'POST {_ONE}/action'),
    rule(EXPORTS, ADMIN, 'List the export locations of a snapshot instance.', f'GET {_ONE}/export-locations'),
    rule(
        EXPORT,
        ADMIN,
        'Show an export location of a snapshot instance.',
        f'GET {_ONE}/export-locations/{{snapshot_export_location_id}}',
    ),
]
