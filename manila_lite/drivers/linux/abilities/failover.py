# SPDX-License-Identifier: Apache-2.0
"""The calls that let a backend move to another host."""

from manila_lite.drivers.interface import FailsOver
from manila_lite.drivers.linux.abilities.base import ComposedDriver
from manila_lite.drivers.linux.services import Services


class LinuxFailover(ComposedDriver, FailsOver):
    """The calls of ``FailsOver``, for a pool that other hosts can open, too."""

    @property
    def fails_over(self) -> bool:
        """Whether other hosts can open the pool."""
        return self.services.keeper is not None

    def take_up(self, until: float) -> None:
        """Allow this host to serve until then, after all remains of an earlier time are gone."""
        if self.services.keeper:
            self.services.keeper.take_up(until)

    def keep(self, until: float) -> bool:
        """Allow this host to serve until then, unless its guard has begun to let go."""
        return self.services.keeper is None or self.services.keeper.keep(until)

    def presence(self) -> str:
        """Return the name of the guard that has the pool, unless it has begun to let go."""
        return self.services.keeper.presence() if self.services.keeper else 'always'

    def stand_back(self) -> None:
        """Have nothing of the pool here, and forget all that was known of it: other hosts change it."""
        if self.services.keeper:
            self.services.copies.end_all()
            self.services.keeper.stand_back()
            self.services = Services(self.backend)

    def let_go(self) -> None:
        """Have the guard let go of the pool now."""
        if self.services.keeper:
            self.services.copies.end_all()
            self.services.keeper.leave()

    def obstacle(self) -> str:
        """Return the reason why this host could not mount the pool and serve it, or ''."""
        return self.services.keeper.obstacle() if self.services.keeper else ''
