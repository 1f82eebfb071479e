# SPDX-License-Identifier: Apache-2.0
"""The calls that every driver answers, and the services that all calls go to."""

from collections.abc import Mapping, Sequence

from manila_lite import values
from manila_lite.drivers.cephfs import report
from manila_lite.drivers.cephfs.services import Services
from manila_lite.drivers.interface import Backend, EnsuresOneByOne, ShareDriver, capabilities_of


class ComposedDriver(EnsuresOneByOne, ShareDriver):
    """A driver whose work is done by services. Each ability is a subclass with the calls of that ability."""

    def __init__(self, backend: Backend):
        super().__init__(backend)
        self.services = Services(backend)
        self.PROTOCOLS = frozenset({self.services.protocol.NAME})

    # Life -------------------------------------------------------------------------------------

    def setup(self) -> None:
        """Wait until the cluster can be used."""
        self.services.lifecycle.set_up()

    def shutdown(self) -> None:
        """Close connections to the cluster."""
        self.services.lifecycle.shut_down()

    def report(self) -> Sequence[values.Pool]:
        """Return a pool for each data pool, and look after servers of the protocol."""
        self.services.lifecycle.keep_up()
        return report.report(
            self.backend.conf,
            self.services.pools,
            self.services.protocol,
            capabilities_of(self),
            self.services.lifecycle.findings(),
        )

    def fingerprint(self) -> Mapping[str, str]:
        """Return the values that exports depend on."""
        return report.fingerprint(self.backend.conf, self.services.protocol)

    # Shares -----------------------------------------------------------------------------------

    def create_share(self, share: values.Share) -> Sequence[values.ExportLocation]:
        """Create a subvolume that nobody may mount yet."""
        return self.services.shares.create(share)

    def delete_share(self, share: values.Share) -> None:
        """Shut all clients out, and delete the subvolume; Ceph frees its space afterwards."""
        self.services.shares.delete(share)

    def update_access(
        self, share: values.Share, rules: Sequence[values.AccessRule]
    ) -> Mapping[str, values.RuleResult]:
        """Put exactly these rules in force, also for open sessions."""
        return self.services.access.update(share, rules)

    def ensure_share(self, target: values.EnsureTarget) -> values.EnsureResult:
        """Bring back the limit and the rules of the share; a share whose data is missing gets an error."""
        return self.services.ensuring.ensure(target)

    def inspect_shares(self, targets: Sequence[values.EnsureTarget]) -> Mapping[str, values.EnsureResult]:
        """Return the repairs that each share needs."""
        return self.services.ensuring.inspect(targets)
