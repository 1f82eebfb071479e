# SPDX-License-Identifier: Apache-2.0
"""NFS by an existing NFS cluster: its gateways serve the shares, and Ceph's manager makes the exports."""

from collections.abc import Iterable, Sequence

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.computed_once import computed_once
from manila_lite.drivers.cephfs.nfs.fsal import vet
from manila_lite.drivers.cephfs.nfs_cluster import check
from manila_lite.drivers.cephfs.nfs_cluster.exports import Client, Exports
from manila_lite.drivers.cephfs.nfs_cluster.gateways import Gateways
from manila_lite.drivers.cephfs.protocols.export_keys import ExportKeys
from manila_lite.drivers.cephfs.protocols.nfs import Nfs
from manila_lite.drivers.cephfs.protocols.nfs_mounts import NfsMounts, by_id, mounted_as
from manila_lite.drivers.cephfs.volumes.evictions import planned
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume, Subvolumes
from manila_lite.drivers.file_servers import ganesha_clients
from manila_lite.drivers.interface import Backend


class NfsCluster(NfsMounts):
    """NFS clients of an existing NFS cluster."""

    def __init__(self, backend: Backend, cluster: Cluster, subvolumes: Subvolumes):
        super().__init__(backend, cluster, subvolumes)
        self._former_keys = ExportKeys(subvolumes, self.sessions, self.evictions)

    @classmethod
    def problems(cls, backend: Backend) -> Iterable[values.Problem]:
        return check.problems(backend.conf)

    @classmethod
    def problems_at(cls, cluster: Cluster, backend: Backend) -> Iterable[values.Problem]:
        return check.problems_at(cluster, backend.conf)

    @computed_once
    def gateways(self) -> Gateways:
        """The gateways of the NFS cluster. Ceph must answer: it knows the file system."""
        name = self.backend.conf.cephfs_nfs_cluster_id
        return Gateways(
            Exports(self.cluster, name, self.subvolumes.filesystem), self.sessions, self.evictions
        )

    def set_up(self) -> None:
        """Stop the gateway that ran here before the option named an NFS cluster.

        :raises errors.Final: the NFS cluster cannot be used.
        """
        for problem in self.problems_at(self.cluster, self.backend):
            raise errors.Final(f'{problem.what}: {problem.hint}')
        Nfs(self.backend, self.cluster, self.subvolumes).retire()

    # Access -----------------------------------------------------------------------------------

    def admit(self, share: values.Share) -> None:
        self.gateways.admit(by_id(share))

    def apply(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> dict[str, values.RuleResult]:
        chosen, results = ganesha_clients.clients(rules)
        vet(subvolume.path)
        if self.gateways.serve(share.id, subvolume, mounted_as(share, subvolume), _clients(chosen)):
            self._former_keys.revoke(share.id, subvolume)
        # None of those that Ceph lists is of a gateway: they had access before the share was managed, or served here.
        self._former_keys.shut_out(subvolume, self._former_keys.ids(subvolume) - planned(subvolume.marks))
        return results

    def defects(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> list[str]:
        chosen, _ = ganesha_clients.clients(rules)
        return self.gateways.defects_of(subvolume, mounted_as(share, subvolume), _clients(chosen))

    def forget(self, share: values.Share, subvolume: Subvolume) -> None:
        self.gateways.forget(share.id, mounted_as(share, subvolume), subvolume.name)

    def discard(self, share: values.Share) -> None:
        for path in {
            by_id(share),
            *('/' + location.path.partition(':/')[2] for location in share.export_locations),
        }:
            self.gateways.forget(share.id, path)


def _clients(chosen: Sequence[ganesha_clients.Clients]) -> tuple[Client, ...]:
    return tuple((one.addresses, one.level) for one in chosen)
