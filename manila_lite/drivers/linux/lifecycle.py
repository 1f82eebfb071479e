# SPDX-License-Identifier: Apache-2.0
"""The life of a backend: its pool and file servers come up, are kept up, and go."""

import shutil
from pathlib import Path

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.linux.options import LinuxOptions
from manila_lite.drivers.linux.pool.base import Pool
from manila_lite.drivers.linux.protocols import check
from manila_lite.drivers.linux.protocols.protocol_servers import ProtocolServers
from manila_lite.drivers.linux.servers.share_servers import ShareServers
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)


class Lifecycle:
    """The life of one backend, whose state directory is ``state``."""

    def __init__(
        self,
        host: str,
        conf: LinuxOptions,
        state: Path,
        *,
        pool: Pool,
        protocol_servers: ProtocolServers,
        share_servers: ShareServers,
    ):
        self._host = host
        self._conf = conf
        self._state = state
        self._pool = pool
        self._protocol_servers = protocol_servers
        self._share_servers = share_servers

    def set_up(self, protocols: frozenset[str]) -> None:
        """Mount the pool and start the file servers, with the exports of an earlier run.

        :raises errors.Final: the pool or a file server does not work; with its error message.
        """
        self._state.mkdir(parents=True, exist_ok=True)
        self._state.chmod(0o700)
        try:
            self._pool.open()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(
                f'linux_pool_path = {self._conf.linux_pool_path} cannot be used as a pool: {bad}'
            ) from bad
        if 'CIFS' not in protocols and self._conf.linux_cifs_users:
            LOG.warning('%s serves NFS only: %s', self._host, check.lacks_for_cifs(self._conf))
        try:
            if self._conf.driver_handles_share_servers:
                self._share_servers.adopt()
            else:
                self._protocol_servers.start()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(str(bad)) from bad

    def restart_dead_servers(self) -> None:
        """Start file servers again that died.

        :raises CommandFailed: a server of a backend without share servers does not come up.
        """
        if not self._conf.driver_handles_share_servers:
            self._protocol_servers.restart_if_dead()
        for protocol_servers in self._share_servers.protocol_servers():
            try:
                protocol_servers.restart_if_dead()
            except (CommandFailed, OSError) as bad:
                LOG.error('One share server is not served: %s', bad)

    def tear_down(self, *, remove_data: bool = False) -> None:
        """Stop and unmount everything of this backend; with ``remove_data``, delete its data too."""
        self._protocol_servers.stop()
        self._share_servers.halt()
        self._pool.close(remove_data=remove_data)
        if remove_data:
            shutil.rmtree(self._state, ignore_errors=True)
