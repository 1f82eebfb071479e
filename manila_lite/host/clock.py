# SPDX-License-Identifier: Apache-2.0
"""The clock of leases: how long a host may serve."""

import time


def boottime() -> float:
    """Return seconds by a clock that is never set, and goes on while the host is suspended, as leases of others do."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
