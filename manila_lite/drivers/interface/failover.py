# SPDX-License-Identifier: Apache-2.0
"""The ability of a backend to move to another host, with its storage and its share servers."""

import abc

from manila_lite.drivers.interface.base import ShareDriver


class FailsOver(ShareDriver):
    """Several hosts can open the same storage; only the one whose share manager has the backend lease does.

    Times are in seconds of a clock that starts when the machine boots, goes on while it sleeps, and is never set. The driver
    makes sure that this host serves nothing and writes nothing after the time that it was told last, also if the share
    manager died or hangs. ``setup`` makes sure that no other host has the storage.
    """

    @property
    @abc.abstractmethod
    def fails_over(self) -> bool:
        """Whether the backend is configured for several hosts. If not, the other calls have no effect."""

    @abc.abstractmethod
    def take_up(self, until: float) -> None:
        """Allow this host to serve until then; it has just got the lease. Called before ``setup``.

        What still serves is kept if this host has served without a break. Any other remains are removed first; an exception
        means that this is not possible now.
        """

    @abc.abstractmethod
    def keep(self, until: float) -> bool:
        """Allow this host to serve until then; its lease was renewed. Must be quick.

        Returns false if this host has stopped serving meanwhile: the share manager begins anew.
        """

    @abc.abstractmethod
    def presence(self) -> str:
        """Return a text that stays the same as long as this host serves without a break; '' while it does not. Must be quick.

        If it changed during another call, the outcome of that call does not count: its storage had gone. Without several
        hosts it is always the same text.
        """

    @abc.abstractmethod
    def stand_back(self) -> None:
        """Serve nothing of this backend, and have nothing of it mounted. Called while another process has the lease.

        If the other process is on this host, what it serves is left alone.
        """

    @abc.abstractmethod
    def let_go(self) -> None:
        """Stop serving now, and have nothing of the backend mounted: another host is to serve it. ``keep`` returns false then.

        An exception means that something is still here; this host goes on to remove it.
        """

    @abc.abstractmethod
    def obstacle(self) -> str:
        """Return the reason why this host, which waits, could not serve the backend, or ''. Must be quick.

        Called about once a second, so that the driver can see meanwhile whether the host that serves still writes.
        """
