# SPDX-License-Identifier: Apache-2.0
"""The calls for migrations of single shares: actions of the share."""

from typing import Any

from manila_lite import errors
from manila_lite.actions import share_migration as actions
from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Body, Call, Field, Plain
from manila_lite.api.framework.handlers import BODY, act, path
from manila_lite.api.request import Request

_SHARE = '/shares/{share_id}'
_ACTION = f'{_SHARE}/action'
_BUSY = ((errors.WrongState, 400),)
#: Manila removed the calls of earlier versions.
_SINCE = '2.22'


def _flag(name: str, **more: object) -> Field:
    return Field(name, shapes.FLAG, parse=shapes.flag, **more)  # type: ignore[arg-type]


_WANTED = (
    Field('host', shapes.TEXT, required=True),
    *(_flag(name, required=True) for name in ('writable', 'nondisruptive')),
    _flag('preserve_snapshots', until='2.28'),
    _flag('preserve_snapshots', since='2.29', required=True),
    # Metadata of a share does not depend on its backend, so it is always kept.
    _flag('preserve_metadata', required=True),
    Field('force_host_assisted_migration', shapes.NULL_FLAG, parse=shapes.flag),
    Field('new_share_network_id', shapes.NULL_REFERENCE, empty_is_null=True),
    Field('new_share_type_id', shapes.NULL_REFERENCE, empty_is_null=True),
)

_SHORT = Plain(shapes.progress(task_state=shapes.NULL_STRING))
_LONG = Plain(shapes.progress(task_state=shapes.NULL_STRING, details={'type': 'object'}))


def _with_details(req: Request, figures: dict[str, Any]) -> dict[str, Any]:
    details = {name: value for name, value in figures.items() if name not in ('total_progress', 'task_state')}
    return {**figures, 'details': {name: value for name, value in details.items() if value is not None}}


_PROGRESS_WITH_DETAILS = act(
    "Show the progress of a share's migration, with further figures in ``details``, too.",
    actions.progress,
    path('share_id'),
    name='progress_with_details',
    then=_with_details,
)

CALLS = [
    Call(
        'POST',
        _ACTION,
        act('Start the migration of a share.', actions.start, path('share_id'), BODY),
        'share:migration_start',
        ok=202,
        or_ok=200,
        action='migration_start',
        since=_SINCE,
        states=_BUSY,
        body=Body('migration_start', _WANTED),
    ),
    Call(
        'POST',
        _ACTION,
        act('Complete the migration of a share: the copy takes over.', actions.complete, path('share_id')),
        'share:migration_complete',
        ok=202,
        action='migration_complete',
        since=_SINCE,
        states=_BUSY,
    ),
    Call(
        'POST',
        _ACTION,
        act('Cancel the migration of a share.', actions.cancel, path('share_id')),
        'share:migration_cancel',
        ok=202,
        action='migration_cancel',
        since=_SINCE,
        states=_BUSY,
    ),
    Call(
        'POST',
        _ACTION,
        act("Show the progress of a share's migration.", actions.progress, path('share_id')),
        'share:migration_get_progress',
        _SHORT,
        action='migration_get_progress',
        since=_SINCE,
        until='2.58',
    ),
    Call(
        'POST',
        _ACTION,
        _PROGRESS_WITH_DETAILS,
        'share:migration_get_progress',
        _LONG,
        action='migration_get_progress',
        since='2.59',
    ),
    Call(
        'GET',
        f'{_SHARE}/migration-progress',
        _PROGRESS_WITH_DETAILS,
        'share:migration_get_progress',
        _LONG,
        since='2.98',
    ),
]
