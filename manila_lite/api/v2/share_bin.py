# SPDX-License-Identifier: Apache-2.0
"""The calls for the recycle bin: actions of shares. Lists of shares tell which shares are in it."""

from manila_lite import errors
from manila_lite.actions import share_bin as actions
from manila_lite.api.framework.call import Call
from manila_lite.api.framework.handlers import act, path

_ACTION = '/shares/{share_id}/action'

CALLS = [
    Call(
        'POST',
        _ACTION,
        act('Put a share into the recycle bin.', actions.soft_delete, path('share_id')),
        'share:soft_delete',
        ok=202,
        action='soft_delete',
        since='2.69',
        states=((errors.WrongState, 403),),
    ),
    Call(
        'POST',
        _ACTION,
        act(
            'Take a share out of the recycle bin; 200 means that it was not in it.',
            actions.restore,
            path('share_id'),
        ),
        'share:restore',
        ok=202,
        or_ok=200,
        action='restore',
        since='2.69',
    ),
]
