# SPDX-License-Identifier: Apache-2.0
"""What the backend promises of a share beside its size: how much its clients transfer."""

from oslo_log import log

from manila_lite import errors, kinds
from manila_lite.drivers.linux import shaping
from manila_lite.drivers.linux.pool import Pool
from manila_lite.drivers.linux.servers import Servers

LOG = log.getLogger(__name__)


class LinuxPromises:
    """The part of the driver that keeps them, where ``_limits`` says that it can."""

    _limits: bool
    _pool: Pool
    _servers: Servers

    def _limit(self, share: kinds.Share) -> bool:
        """What clients transfer is limited as it is promised. Says whether that was otherwise.

        :raises errors.Final: it is promised what cannot be kept.
        """
        if share.qos and not self._limits:
            raise errors.Final('This backend keeps promises of quality only where each share has a share server of its own.')
        wanted = shaping.limit(share)
        if not self._limits or share.server is None or (wanted is None and self._is_accompanied(share)):
            return False        # if there is a limit, it is that of the other one
        return self._servers.shape(share.server.id, wanted)

    def _limit_new(self, share: kinds.Share) -> None:
        """As ``_limit``, of a share that comes to its server.

        :raises errors.Final: it is promised something, and is not alone there: a group's shares are together, and managed ones.
        """
        if share.qos and share.server is not None and self._is_accompanied(share):
            raise errors.Final('This backend keeps promises of quality only of a share that is alone on its share server.')
        self._limit(share)

    def _is_accompanied(self, share: kinds.Share) -> bool:
        """Say whether another share is on the share's server."""
        return share.server is not None and any(ident != share.id and self._pool.share(ident).exists()
                                                for ident in self._servers.exported(share.server.id))

    def _limit_again(self, share: kinds.Share) -> tuple[str, ...]:
        """As ``_limit``, of a share that is there, and stays so; in words."""
        try:
            return ('It could transfer more, or less, than it may.',) if self._limit(share) else ()
        except errors.Final as bad:
            LOG.error('Share %s: %s', share.id, bad)
            return ()
