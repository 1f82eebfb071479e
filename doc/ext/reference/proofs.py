# SPDX-License-Identifier: Apache-2.0
"""The calls of the API, each with the test that proves it."""

from collections.abc import Iterator

import manila_lite.cmd  # noqa: F401 - first: threads
from manila_lite.api.v2 import CALLS
from manila_lite.tests.functional import proofs
from reference import rst


def lines() -> Iterator[str]:
    """Yield one table of all calls."""
    rows = {
        proofs.label(call): (rst.code(proofs.label(call)), call.since, proofs.proof(call) or 'none')
        for call in CALLS
    }
    yield from rst.table(('Call', 'Since', 'Test'), rows.values(), (50, 8, 42))
