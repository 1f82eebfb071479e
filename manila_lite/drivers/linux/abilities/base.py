# SPDX-License-Identifier: Apache-2.0
"""The calls that every driver answers, and the services that all calls go to."""

from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.interface import Backend, ShareDriver, capabilities_of, replication_of
from manila_lite.drivers.linux import report
from manila_lite.drivers.linux.services import Services


class ComposedDriver(ShareDriver):
    """A driver whose work is done by services. Each ability is a subclass with the calls of that ability."""

    def __init__(self, backend: Backend):
        super().__init__(backend)
        self.services = Services(backend)
        self.HANDLES_SHARE_SERVERS = backend.conf.driver_handles_share_servers
        self.PROTOCOLS = self.services.exports.protocols

    # Life -------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Mount the pool and start the file servers, with the exports of an earlier run."""
        self.services.lifecycle.set_up(self.PROTOCOLS)

    def shutdown(self) -> None:
        """Stop all copies."""
        self.services.copies.end_all()

    def teardown(self, *, remove_data: bool = False) -> None:
        """Stop and unmount everything of this backend; with ``remove_data``, delete its data too."""
        self.services.lifecycle.tear_down(remove_data=remove_data)

    def report(self) -> Sequence[values.Pool]:
        """Return the one pool, and start file servers again that died."""
        self.services.lifecycle.restart_dead_servers()
        return [
            report.report(
                self.backend.conf,
                self.services.pool,
                exports=self.services.exports,
                has_qos=self.services.qos.is_supported,
                capabilities=capabilities_of(self),
                replication=replication_of(self, self.backend.conf.linux_replication_domain),
            )
        ]

    def fingerprint(self) -> Mapping[str, str]:
        """Return the values that exports depend on."""
        return report.fingerprint(self.backend.conf)

    # Shares -----------------------------------------------------------------------------------

    def create_share(self, share: values.Share) -> Sequence[values.ExportLocation]:
        """Create an empty share, mounted and exported without access rules."""
        return self.services.shares.create(share)

    def delete_share(self, share: values.Share) -> None:
        """Delete the export, the mount and the data; a busy mount goes when its last user ends."""
        self.services.shares.delete(share)

    def update_access(
        self, share: values.Share, rules: Sequence[values.AccessRule]
    ) -> Mapping[str, values.RuleResult]:
        """Put exactly these rules in force, also for open sessions."""
        return self.services.access.update(share, rules)

    def ensure_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        """Bring back the mount, limit, export and rules of each share; a share whose data is missing gets an error."""
        return self.services.ensuring.ensure(targets)

    def inspect_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        """Return the repairs that each share needs: to its mount, limit, export, rules and file server."""
        return self.services.ensuring.inspect(targets)
