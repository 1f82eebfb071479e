# SPDX-License-Identifier: Apache-2.0
"""QoS of shares beside their size: how much their clients can transfer."""

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.servers import traffic_shaping
from manila_lite.drivers.linux.servers.share_servers import ShareServers

LOG = log.getLogger(__name__)


class ShareQos:
    """The QoS specs of one backend's shares. ``is_supported``: whether each share has a share server of its own."""

    def __init__(self, pool: Pool, servers: ShareServers, *, is_supported: bool):
        self._pool = pool
        self._servers = servers
        self.is_supported = is_supported

    def limit(self, share: values.Share) -> bool:
        """Limit the transfer of clients as promised. Returns whether anything changed.

        :raises errors.Final: this backend cannot keep the promise.
        """
        if share.qos and not self.is_supported:
            raise errors.Final('This backend supports QoS only if each share has a share server of its own.')
        wanted = traffic_shaping.limit(share)
        if not self.is_supported or share.server is None or (wanted is None and self._is_accompanied(share)):
            return False  # a limit that exists belongs to the other share
        return self._servers.shape(share.server.id, wanted)

    def limit_new(self, share: values.Share) -> None:
        """Limit a share that is new on its server, as ``limit``.

        :raises errors.Final: the share has a promise, and the server has other shares: shares of its group, or managed
            ones.
        """
        if share.qos and share.server is not None and self._is_accompanied(share):
            raise errors.Final(
                'This backend supports QoS only for a share that is alone on its share server.'
            )
        self.limit(share)

    def limit_again(self, share: values.Share) -> tuple[str, ...]:
        """Limit a share that is on its server already, as ``limit``. Returns the repairs in words."""
        try:
            return ('It could transfer more, or less, than it may.',) if self.limit(share) else ()
        except errors.Final as bad:
            LOG.error('Share %s: %s', share.id, bad)
            return ()

    def _is_accompanied(self, share: values.Share) -> bool:
        """Say whether another share is on the share's server."""
        return share.server is not None and any(
            share_id != share.id and self._pool.share(share_id).exists()
            for share_id in self._servers.exported(share.server.id)
        )
