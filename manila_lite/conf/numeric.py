# SPDX-License-Identifier: Apache-2.0
"""Options with a number: each has a minimum and a maximum that all arithmetic with it survives."""

import math
from typing import Any

from oslo_config import cfg, types

#: The maximum of options without one of their own. As seconds, 68 years: dates can be so far away.
MOST = 2**31 - 1
#: The maximum of timeouts, in seconds: the operating system counts those of sockets and processes in milliseconds.
WEEK = 7 * 24 * 3600
DECADE_IN_HOURS = 10 * 366 * 24
#: The maximum of threads, processes and connections.
THREADS = 10000


class _Finite(types.Float):
    """A number that is a number, within its bounds: oslo.config compares, and nothing is less or more than "nan"."""

    def __call__(self, value: Any) -> float | None:
        number = super().__call__(value)
        if number is not None and not math.isfinite(number):
            raise ValueError(f'{value} is not a number')
        return number


class Int(cfg.IntOpt):
    """Option that is a whole number. ``min`` is required; ``max`` is ``MOST`` if it is not given."""

    def __init__(self, name: str, **more: Any):
        super().__init__(name, min=more.pop('min'), **{'max': MOST, **more})


class Float(cfg.Opt):
    """Option that is a number. ``min`` is required; ``max`` is ``MOST`` if it is not given."""

    def __init__(self, name: str, **more: Any):
        least, most = more.pop('min'), more.pop('max', MOST)
        super().__init__(name, type=_Finite(least, most, 'floating point value'), **more)
