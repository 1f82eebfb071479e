# SPDX-License-Identifier: Apache-2.0
"""The calls for migrations of single shares: actions of the share."""

from manila_lite import errors
from manila_lite.api.contract import shapes
from manila_lite.api.contract.call import Body, Call, Field, Plain
from manila_lite.api.contract.shapes import NULL_STRING
from manila_lite.api.v2 import share_migration as v2
from manila_lite.policies import share_migration as rules

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

_SHORT = Plain(shapes.progress(task_state=NULL_STRING))
_LONG = Plain(shapes.progress(task_state=NULL_STRING, details={'type': 'object'}))

OPS = [
    Call(
        'POST',
        _ACTION,
        v2.start,
        rules.START,
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
        v2.complete,
        rules.COMPLETE,
        ok=202,
        action='migration_complete',
        since=_SINCE,
        states=_BUSY,
    ),
    Call(
        'POST',
        _ACTION,
        v2.cancel,
        rules.CANCEL,
        ok=202,
        action='migration_cancel',
        since=_SINCE,
        states=_BUSY,
    ),
    Call(
        'POST',
        _ACTION,
        v2.progress,
        rules.PROGRESS,
        _SHORT,
        action='migration_get_progress',
        since=_SINCE,
        until='2.58',
    ),
    Call(
        'POST',
        _ACTION,
        v2.progress_with_details,
        rules.PROGRESS,
        _LONG,
        action='migration_get_progress',
        since='2.59',
    ),
    Call(
        'GET', f'{_SHARE}/migration-progress', v2.progress_with_details, rules.PROGRESS, _LONG, since='2.98'
    ),
]
