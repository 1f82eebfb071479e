# SPDX-License-Identifier: Apache-2.0
"""The calls for extensions, kept for older clients."""

from manila_lite.api.contract.call import Call, Plain
from manila_lite.api.v2 import extensions as v2
from manila_lite.policies import extensions as rules

OPS = [
    Call(
        'GET', '/extensions', v2.index, rules.GET_ALL, Plain({'type': 'array', 'maxItems': 0}, 'extensions')
    ),
    Call('GET', '/extensions/{alias}', v2.show, rules.GET, Plain({'type': 'object'}, 'extension')),
]
