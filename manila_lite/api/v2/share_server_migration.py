# SPDX-License-Identifier: Apache-2.0
"""The calls for migrations of share servers: actions of the server."""

from manila_lite import errors, states
from manila_lite.actions import share_server_migration as actions
from manila_lite.actions.migration_targets import OPTIONS
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Body, Call, Field, Plain
from manila_lite.api.framework.handlers import BODY, act, optional, path

_ACTION = '/share-servers/{share_server_id}/action'
_SINCE = '2.57'

_WANTED = (
    Field('host', shapes.TEXT, required=True),
    *(Field(name, shapes.FLAG, required=True, parse=shapes.flag) for name in OPTIONS),
    # Part of the specification. A share's metadata does not depend on its backend, so it is always kept.
    Field('preserve_metadata', shapes.FLAG, parse=shapes.flag),
    # Not of Manila, which has it for shares only: the host of the destination copies.
    Field('force_host_assisted_migration', shapes.NULL_FLAG, parse=shapes.flag),
    Field('new_share_network_id', shapes.NULL_REFERENCE, empty_is_null=True),
)
_HALF = {'type': 'object', 'additionalProperties': {'type': ['boolean', 'string', 'null']}}
_CHECKED = {
    'type': 'object',
    'required': ['compatible', 'requested_capabilities', 'supported_capabilities'],
    'properties': {
        'compatible': shapes.BOOLEAN,
        'reason': shapes.NULL_STRING,
        'requested_capabilities': _HALF,
        'supported_capabilities': _HALF,
    },
}
_PROGRESS = shapes.progress(task_state=shapes.NULL_STRING, destination_share_server_id=shapes.NULL_STRING)
_TASK_STATE = {
    'enum': [
        None,
        *(state.value for state in states.Migration if state not in states.BY_HOST),
        *states.MIGRATION_ALIASES,
    ]
}

CALLS = [
    Call(
        'POST',
        _ACTION,
        act(
            'Check whether a share server could migrate to a host.',
            actions.check,
            path('share_server_id'),
            BODY,
        ),
        'share_server:share_server_migration_check',
        Plain(_CHECKED),
        action='migration_check',
        since=_SINCE,
        body=Body('migration_check', _WANTED),
    ),
    Call(
        'POST',
        _ACTION,
        act('Start the migration of a share server.', actions.start, path('share_server_id'), BODY),
        'share_server:share_server_migration_start',
        ok=202,
        action='migration_start',
        since=_SINCE,
        states=((errors.WrongState, 409),),
        body=Body('migration_start', _WANTED),
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Complete the migration of a share server: the copy takes over.',
            actions.complete,
            path('share_server_id'),
            then=lambda req, target_id: {'destination_share_server_id': target_id},
        ),
        'share_server:share_server_migration_complete',
        Plain({'type': 'object', 'properties': {'destination_share_server_id': shapes.ID}}),
        action='migration_complete',
        since=_SINCE,
    ),
    Call(
        'POST',
        _ACTION,
        act('Cancel the migration of a share server.', actions.cancel, path('share_server_id')),
        'share_server:share_server_migration_cancel',
        ok=202,
        action='migration_cancel',
        since=_SINCE,
    ),
    # As in Manila, whose published tests ask for it: a server that is not there is not being migrated.
    Call(
        'POST',
        _ACTION,
        act("Show the progress of a share server's migration.", actions.progress, path('share_server_id')),
        'share_server:share_server_migration_get_progress',
        Plain(_PROGRESS),
        action='migration_get_progress',
        since=_SINCE,
        states=((errors.NotFound, 400),),
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Set the task state of a share server.',
            actions.reset_task_state,
            path('share_server_id'),
            optional('task_state'),
        ),
        'share_server:share_server_reset_task_state',
        ok=202,
        action='reset_task_state',
        since=_SINCE,
        body=Body('reset_task_state', (Field('task_state', _TASK_STATE),)),
    ),
]
