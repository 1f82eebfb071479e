# SPDX-License-Identifier: Apache-2.0
"""The ability to say how full shares are."""

import abc
from collections.abc import Mapping, Sequence

from manila_lite import values


class MeasuresUsage(abc.ABC):
    """Measurement of what shares take, of many shares at once."""

    @abc.abstractmethod
    def measure_usage(self, targets: Sequence[values.UsageTarget]) -> Mapping[str, values.ShareUsage]:
        """Return what each of these shares takes, by ``target.id``. All of them are in one pool.

        It must not cost a command, or a process, for each share: called every few minutes for all shares of a pool. A share
        that is missing, or whose figure is not known, has no result. The figures may be as old as those that ``df`` shows a
        client at the same moment.
        """
