# SPDX-License-Identifier: Apache-2.0
"""Snapshot instances: a snapshot at one pool."""

from manila_lite.policies.base import ADMIN, rule

_ONE = '/snapshot-instances/{snapshot_instance_id}'

RULES = [
    rule('share_snapshot_instance:index', ADMIN, 'List snapshot instances.', 'GET /snapshot-instances'),
    rule(
        'share_snapshot_instance:detail',
        ADMIN,
        'List snapshot instances with details.',
        'GET /snapshot-instances/detail',
    ),
    rule('share_snapshot_instance:show', ADMIN, 'Show a snapshot instance.', f'GET {_ONE}'),
    rule(
        'share_snapshot_instance:reset_status',
        ADMIN,
        'Reset the status of a snapshot instance by hand.',
        f'POST {_ONE}/action',
    ),
    rule(
        'share_snapshot_instance_export_location:index',
        ADMIN,
        'List the export locations of a snapshot instance.',
        f'GET {_ONE}/export-locations',
    ),
    rule(
        'share_snapshot_instance_export_location:show',
        ADMIN,
        'Show an export location of a snapshot instance.',
        f'GET {_ONE}/export-locations/{{snapshot_export_location_id}}',
    ),
]
