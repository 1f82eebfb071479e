# SPDX-License-Identifier: Apache-2.0
"""Operations of the service, as a resource of openstacksdk. ``service``: its proxy of the API, ``shared_file_system``."""

import re
from typing import Any

from openstack import exceptions, resource

STATES = ('open', 'done', 'failed', 'parked')
OPEN, DONE = STATES[:2]

#: Further tries of requests while somebody waits. keystoneauth doubles the pause before each, half a second at first.
_TRIES = 7
#: Answers in place of the API, or of one that is overloaded.
_AWAY = (429, 502, 503, 504)

_ID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)


class Operation(resource.Resource):
    """An operation. The fields are those of the API."""

    resource_key = 'operation'
    resources_key = 'operations'
    base_path = '/operations'
    allow_fetch = allow_list = True

    _query_mapping = resource.QueryParameters(
        'all_projects',
        'host',
        'kind',
        'project_id',
        'request_id',
        'resource_id',
        'resource_type',
        'sort_dir',
        'sort_key',
        'state',
    )

    kind = resource.Body('kind')
    resource_type = resource.Body('resource_type')
    resource_id = resource.Body('resource_id')
    project_id = resource.Body('project_id')
    user_id = resource.Body('user_id')
    request_id = resource.Body('request_id')
    state = resource.Body('state')
    running = resource.Body('running', type=bool)
    undoing = resource.Body('undoing', type=bool)
    phase = resource.Body('phase')
    step = resource.Body('step', type=int)
    steps = resource.Body('steps', type=int)
    attempts = resource.Body('attempts', type=int)
    progress = resource.Body('progress', type=dict)
    error = resource.Body('error')
    created_at = resource.Body('created_at')
    updated_at = resource.Body('updated_at')
    next_run_at = resource.Body('next_run_at')
    finished_at = resource.Body('finished_at')
    #: For administrators only.
    host = resource.Body('host')
    report = resource.Body('report', type=dict)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return bool(self.state != OPEN)

    def figure(self, name: str) -> int | None:
        """Return a figure of the progress, or None if it is not known."""
        value = (self.progress or {}).get(name)
        return value if isinstance(value, int) else None


def get(service: Any, operation_id: str) -> Operation:
    """Return an operation.

    :raises openstack.exceptions.NotFoundException: there is none that the caller may see.
    """
    return Operation.new(id=operation_id).fetch(service)


def look(service: Any, operation_id: str) -> Operation:
    """Return an operation. If the API does not answer, it is asked again for about a minute, as it may be restarted while
    somebody waits for hours.

    :raises openstack.exceptions.NotFoundException: there is none that the caller may see.
    """
    answer = service.get(
        f'{Operation.base_path}/{operation_id}',
        connect_retries=_TRIES,
        status_code_retries=_TRIES,
        retriable_status_codes=_AWAY,
    )
    exceptions.raise_from_response(answer)
    return Operation.existing(**answer.json()[Operation.resource_key])


def find(service: Any, word: str) -> list[Operation]:
    """Return the operations to wait for: the one with this id; else those of the resource with this id or, of a share, this
    name. These are its open ones, the oldest first, or if none is open, the one that was asked for last.

    :raises openstack.exceptions.NotFoundException: there is none that the caller may see.
    """
    if _ID.fullmatch(word):
        try:
            return [get(service, word)]
        except exceptions.NotFoundException:
            pass
    resource_id = resource_named(service, word)
    newest = list(
        Operation.list(service, paginated=False, all_projects=True, resource_id=resource_id, limit=1)
    )
    still_open = list(
        Operation.list(
            service,
            all_projects=True,
            resource_id=resource_id,
            state=OPEN,
            sort_key='created_at',
            sort_dir='asc',
        )
    )
    if not newest:
        raise exceptions.NotFoundException(f'No operation of {word} is known.')
    return still_open or newest


def resource_named(service: Any, word: str) -> str:
    """Return the id of a resource: the word itself if it can be an id, else that of the share with this name.

    :raises openstack.exceptions.NotFoundException: no share has this name.
    """
    return word if _ID.fullmatch(word) else service.find_share(word, ignore_missing=False).id
