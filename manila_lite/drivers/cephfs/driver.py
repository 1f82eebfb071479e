# SPDX-License-Identifier: Apache-2.0
"""The cephfs driver: each share is a subvolume of a CephFS file system, made by the cluster's volumes module.

``parts.py`` makes the parts that do the work; the table here gives each call to its part.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from manila_lite import errors, values
from manila_lite.drivers.cephfs import report, start_checks
from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.nfs import options as nfs_options
from manila_lite.drivers.cephfs.options import OPTIONS
from manila_lite.drivers.cephfs.parts import Parts
from manila_lite.drivers.interface import (
    Backend,
    Clones,
    EnsuresOneByOne,
    ManagesSnapshots,
    MeasuresUsage,
    Resizes,
    ShareDriver,
    Snapshots,
    capabilities_of,
)
from manila_lite.drivers.passing_on import passes_on


@passes_on(
    {
        'create_share': 'shares.create',
        'delete_share': 'shares.delete',
        'update_access': 'shares.update_access',
        'ensure_share': 'ensuring.ensure',
        'inspect_shares': 'ensuring.inspect',
        'extend_share': 'shares.extend',
        'shrink_share': 'shares.shrink',
        'measure_usage': 'measuring.usage',
        'manage_share': 'managed_shares.manage',
        'unmanage_share': 'managed_shares.unmanage',
        'create_snapshot': 'snapshots.create',
        'delete_snapshot': 'snapshots.delete',
        'create_share_from_snapshot': 'snapshots.create_share',
        'manage_snapshot': 'snapshots.manage',
        'unmanage_snapshot': 'snapshots.unmanage',
    }
)
class CephfsDriver(EnsuresOneByOne, Resizes, MeasuresUsage, Snapshots, Clones, ManagesSnapshots, ShareDriver):
    """Shares of one file system and one protocol. The share's size is enforced by the clients (EDQUOT).

    Only ``manage_share`` has a driver option, ``size`` in GiB.
    """

    OPTIONS = (*OPTIONS, *nfs_options.OPTIONS)
    ACCESS_TYPES: ClassVar[Mapping[str, Sequence[str]]] = {'CEPHFS': ('cephx',), 'NFS': ('ip',)}

    def __init__(self, backend: Backend):
        super().__init__(backend)
        self.parts = Parts(backend)
        self.PROTOCOLS = frozenset({self.parts.protocol.NAME})

    @classmethod
    def check(cls, backend: Backend) -> Sequence[values.Problem]:
        """Return missing requirements of this machine, and the objections of the cluster, if it answers."""
        return list(start_checks.problems(backend))

    def setup(self) -> None:
        """Wait until the cluster can be used, and make the protocol ready.

        :raises errors.Final: the cluster refuses; with its message. :raises Away: it does not answer.
        """
        try:
            self.parts.trees.keep_up()  # first of all: managers may die of what is in the trash
            self.parts.subvolumes.make_group()
            # The volumes module answers this only when a metadata server is active.
            self.parts.subvolumes.names()
            self.parts.pools.await_capacities()
            self.parts.protocol.set_up()
        except Refused as refused:
            raise errors.Final(str(refused)) from refused

    def shutdown(self) -> None:
        self.parts.protocol.shut_down()
        self.parts.objects.close()
        self.parts.cluster.close()

    def report(self) -> Sequence[values.Pool]:
        """Return a pool for each data pool. Look after the trash, objects beside CephFS, and what the protocol has."""
        for part in (self.parts.protocol, self.parts.trees, self.parts.objects):
            part.keep_up()
        return report.report(
            self.backend.conf, self.parts.pools, self.parts.protocol, capabilities_of(self), self._findings()
        )

    def _findings(self) -> dict[str, Any]:
        """Return what was found out about the whole backend, as capabilities: what an administrator has to do, in words, and
        how many objects are in RADOS namespaces of shares beside CephFS.
        """
        trees, objects = self.parts.trees, self.parts.objects
        problems = [*filter(None, (trees.problem,)), *objects.problems()]
        return {
            **({'problems': problems} if problems else {}),
            **({} if objects.strange is None else {'strange_objects': sum(objects.strange.values())}),
        }

    def fingerprint(self) -> Mapping[str, str]:
        return report.fingerprint(self.backend.conf, self.parts.protocol)
