# SPDX-License-Identifier: Apache-2.0
"""The life of a backend: its pool and file servers come up, are kept up, and go, perhaps to another host."""

import contextlib
from collections.abc import Mapping, Sequence

from oslo_log import log

from manila_lite import errors, values
from manila_lite.drivers.file_servers import connection_guard
from manila_lite.drivers.interface import Backend, FailsOver, capabilities_of, replication_of
from manila_lite.drivers.linux import report
from manila_lite.drivers.linux.options import is_in_domains
from manila_lite.drivers.linux.parts import Parts
from manila_lite.drivers.linux.protocols import active_directory, check, handle_guard, preloaded
from manila_lite.drivers.linux.protocols.protocol_servers import membership_of
from manila_lite.host.commands import CommandFailed

LOG = log.getLogger(__name__)


class LinuxLifecycle(FailsOver):
    """The calls about a whole backend."""

    def __init__(self, backend: Backend):
        super().__init__(backend)
        self.parts = Parts(backend)
        self.HANDLES_SHARE_SERVERS = backend.conf.driver_handles_share_servers
        self.PROTOCOLS = self.parts.exports.protocols

    def setup(self) -> None:
        """Mount the pool and start the file servers, with the exports of an earlier run.

        :raises errors.Final: the pool or a file server does not work; with its error message.
        """
        conf, state_dir = self.backend.conf, self.parts.state_dir
        state_dir.mkdir(parents=True, exist_ok=True)
        state_dir.chmod(0o700)
        try:
            self.parts.pool.open()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(
                f'linux_pool_path = {conf.linux_pool_path} cannot be used as a pool: {bad}'
            ) from bad
        if 'CIFS' not in self.PROTOCOLS and (conf.linux_cifs_users or is_in_domains(conf)):
            LOG.warning('%s serves NFS only: %s', self.backend.host, check.lacks_for_cifs(conf))
        try:
            if self.HANDLES_SHARE_SERVERS:
                self.parts.share_servers.adopt()
            else:
                if 'CIFS' in self.PROTOCOLS:
                    self._join_or_leave()
                self.parts.protocol_servers.start()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(str(bad)) from bad

    def _join_or_leave(self) -> None:
        """Have the CIFS server in the domain of the options, and in no other.

        :raises errors.Final: it cannot join, or an option cannot be used.
        """
        conf, host = self.backend.conf, self.backend.host
        membership = membership_of(self.parts.state_dir, conf.linux_netns)
        if domain := active_directory.of_backend(conf):
            membership.join(host, domain)
        elif noted := membership.noted:
            membership.leave(host, noted.domain(conf.linux_cifs_domain_user, conf.linux_cifs_domain_password))

    def shutdown(self) -> None:
        self.parts.copies.end_all()

    def report(self) -> Sequence[values.Pool]:
        """Return the one pool, and start file servers again that died.

        :raises CommandFailed: a server of a backend without share servers does not come up.
        """
        if not self.HANDLES_SHARE_SERVERS:
            self.parts.protocol_servers.restart_if_dead()
        for protocol_servers in self.parts.share_servers.protocol_servers():
            try:
                protocol_servers.restart_if_dead()
            except (CommandFailed, OSError) as bad:
                LOG.error('One share server is not served: %s', bad)
        return [
            report.report(
                self.backend.conf,
                self.parts.pool,
                exports=self.parts.exports,
                has_qos=self.parts.qos.is_supported,
                capabilities=capabilities_of(self),
                replication=replication_of(self, self.backend.conf.linux_replication_domain),
            )
        ]

    def fingerprint(self) -> Mapping[str, str]:
        return report.fingerprint(self.backend.conf)

    # A pool that other hosts can open, too, has a keeper ----------------------------------------------

    @property
    def fails_over(self) -> bool:
        return self.parts.keeper is not None

    def take_up(self, until: float) -> None:
        if self.parts.keeper:
            self.parts.keeper.take_up(until)

    def keep(self, until: float) -> bool:
        return self.parts.keeper is None or self.parts.keeper.keep(until)

    def presence(self) -> str:
        return self.parts.keeper.presence() if self.parts.keeper else 'always'

    def stand_back(self) -> None:
        """Have nothing of the pool here, and forget all that was known of it: other hosts change it. Compile what file servers
        need, so that they start at once when this host takes over.
        """
        if self.parts.keeper:
            self.parts.copies.end_all()
            self.parts.keeper.stand_back()
            self.parts = Parts(self.backend)
            with contextlib.suppress(CommandFailed, OSError):  # a server that starts says why
                for library in (handle_guard, connection_guard, preloaded):
                    library.prepare()

    def let_go(self) -> None:
        if self.parts.keeper:
            self.parts.copies.end_all()
            self.parts.keeper.leave()

    def obstacle(self) -> str:
        return self.parts.keeper.obstacle() if self.parts.keeper else ''
