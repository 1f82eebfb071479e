# SPDX-License-Identifier: Apache-2.0
"""Schedules of snapshots, backups and replicas.

What a schedule makes needs the policies of that, too, as for a member of the project. One of replicas needs
``share_replica:resync`` of who creates or changes it.
"""

from manila_lite.policies.base import ADMIN, MEMBER, READER, rule

_ONE = '/schedules/{schedule_id}'

RULES = [
    rule(
        'schedule:create',
        MEMBER,
        'Create a schedule of snapshots or backups, and preview it.',
        'POST /schedules',
        'POST /schedules/preview',
    ),
    rule(
        'schedule:create_for_all_projects',
        ADMIN,
        'Create a schedule for the shares of all projects.',
        'POST /schedules',
    ),
    rule('schedule:get', READER, 'Show a schedule.', f'GET {_ONE}'),
    rule(
        'schedule:get_all',
        READER,
        'List schedules, and what they made of a share.',
        'GET /schedules',
        'GET /shares/{share_id}/schedule-copies',
    ),
    rule(
        'schedule:list_all_projects',
        ADMIN,
        'List the schedules of all projects.',
        'GET /schedules?all_tenants=1',
    ),
    rule('schedule:update', MEMBER, 'Change or pause a schedule.', f'PUT {_ONE}'),
    rule('schedule:delete', MEMBER, 'Delete a schedule. What it made stays.', f'DELETE {_ONE}'),
    rule(
        'schedule:preview',
        READER,
        'Show the next times of a schedule, and what it would keep.',
        f'GET {_ONE}/preview',
    ),
]
