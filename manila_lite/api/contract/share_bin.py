# SPDX-License-Identifier: Apache-2.0
"""The calls for the recycle bin: actions of shares. Lists of shares tell which shares are in it."""

from manila_lite import errors
from manila_lite.api.contract.call import Call
from manila_lite.api.v2 import share_bin as v2
from manila_lite.policies import shares as rules

_ACTION = '/shares/{share_id}/action'

OPS = [
    Call(
        'POST',
        _ACTION,
        v2.soft_delete,
        rules.SOFT_DELETE,
        ok=202,
        action='soft_delete',
        since='2.69',
        states=((errors.WrongState, 403),),
    ),
    Call('POST', _ACTION, v2.restore, rules.RESTORE, ok=202, or_ok=200, action='restore', since='2.69'),
]
