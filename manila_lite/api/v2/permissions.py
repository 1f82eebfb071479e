# SPDX-License-Identifier: Apache-2.0
"""The call for the permissions of the caller: an addition to Manila's API, at every version."""

from oslo_policy import policy

from manila_lite.api.framework import shapes
from manila_lite.api.framework.call import Call, Plain
from manila_lite.api.request import Request


def index(req: Request) -> dict[str, bool]:
    """List the policy rules of the calls, with whether the caller passes each for a resource of its own."""
    known = req.ctx.services.enforcer.registered_rules
    return {
        name: req.may(name)
        for name, rule in sorted(known.items())
        if isinstance(rule, policy.DocumentedRuleDefault)
    }


CALLS = [
    Call(
        'GET',
        '/permissions',
        index,
        'permission:index',
        Plain({'type': 'object', 'additionalProperties': shapes.BOOLEAN}, 'permissions'),
    )
]
