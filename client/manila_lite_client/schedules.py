# SPDX-License-Identifier: Apache-2.0
"""Schedules of snapshots and backups, as a resource of openstacksdk. ``service``: its proxy, ``shared_file_system``."""

from typing import Any

from openstack import exceptions, resource


class Schedule(resource.Resource):
    """A schedule. The fields are those of the API."""

    resource_key = 'schedule'
    resources_key = 'schedules'
    base_path = '/schedules'
    allow_create = allow_fetch = allow_commit = allow_delete = allow_list = True

    _query_mapping = resource.QueryParameters('all_projects', 'name', 'project_id', 'sort_dir', 'sort_key')

    action = resource.Body('action')
    all_projects = resource.Body('all_projects', type=bool)
    backup_type = resource.Body('backup_type')
    created_at = resource.Body('created_at')
    cron = resource.Body('cron')
    failing_since = resource.Body('failing_since')
    jitter = resource.Body('jitter', type=int)
    keep = resource.Body('keep', type=dict)
    last_good_at = resource.Body('last_good_at')
    last_run_at = resource.Body('last_run_at')
    missed = resource.Body('missed')
    name_prefix = resource.Body('name_prefix')
    next_run_at = resource.Body('next_run_at')
    is_paused = resource.Body('paused', type=bool)
    problem = resource.Body('problem')
    project_id = resource.Body('project_id')
    share_ids = resource.Body('share_ids', type=list)
    share_metadata = resource.Body('share_metadata', type=dict)
    share_type_id = resource.Body('share_type_id')
    time_zone = resource.Body('time_zone')
    updated_at = resource.Body('updated_at')
    user_id = resource.Body('user_id')


def find(service: Any, name_or_id: str) -> Schedule:
    """Return the schedule with this id or name.

    :raises openstack.exceptions.NotFoundException: there is none that the caller may see.
    :raises openstack.exceptions.DuplicateResource: several have this name.
    """
    found: Schedule = Schedule.find(service, name_or_id, ignore_missing=False)
    return found


def send(service: Any, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send values of a schedule, of which null means none. Return what the answer has.

    :raises openstack.exceptions.HttpException: the request is refused.
    """
    answer = service.request(
        f'{Schedule.base_path}{path}', method, json={Schedule.resource_key: body}, raise_exc=False
    )
    exceptions.raise_from_response(answer)
    document: dict[str, Any] = answer.json()
    return document


def preview(service: Any, schedule_id: str) -> dict[str, Any]:
    """Return the preview of a schedule: ``times`` and ``kept``."""
    answer = service.get(f'{Schedule.base_path}/{schedule_id}/preview')
    exceptions.raise_from_response(answer)
    found: dict[str, Any] = answer.json()['preview']
    return found
