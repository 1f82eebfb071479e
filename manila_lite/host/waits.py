# SPDX-License-Identifier: Apache-2.0
"""Waiting for something on this host, or at a server, that tells nobody when it is there."""

import time
from collections.abc import Callable


def until(there: Callable[[], bool], seconds: float, pause: float = 0.02) -> bool:
    """Look again and again. Returns whether it is there within the seconds."""
    end = time.monotonic() + seconds
    while not there():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True
