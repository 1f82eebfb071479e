# SPDX-License-Identifier: Apache-2.0
"""The calls for the recycle bin: actions of shares. Lists of shares tell which shares are in it."""

from manila_lite import errors
from manila_lite.actions import share_bin as actions
from manila_lite.api.framework.call import Call
from manila_lite.api.request import Request
from manila_lite.policies import shares as rules


def soft_delete(req: Request) -> None:
    """Put a share into the recycle bin."""
    actions.soft_delete(req.ctx, req.params['share_id'])


def restore(req: Request) -> None:
    """Take a share out of the recycle bin; 200 means that it was not in it."""
    if not actions.restore(req.ctx, req.params['share_id']):
        req.ok = 200


_ACTION = '/shares/{share_id}/action'

OPS = [
    Call(
        'POST',
        _ACTION,
        soft_delete,
        rules.SOFT_DELETE,
        ok=202,
        action='soft_delete',
        since='2.69',
        states=((errors.WrongState, 403),),
    ),
    Call('POST', _ACTION, restore, rules.RESTORE, ok=202, or_ok=200, action='restore', since='2.69'),
]
