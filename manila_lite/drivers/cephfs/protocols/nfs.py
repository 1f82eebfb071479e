# SPDX-License-Identifier: Apache-2.0
"""NFS: clients mount a share from an NFS-Ganesha of this host, which reaches each share by a CephX id of its own."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.cluster.objects import Objects
from manila_lite.drivers.cephfs.computed_once import computed_once
from manila_lite.drivers.cephfs.nfs import check
from manila_lite.drivers.cephfs.nfs.fsal import vet
from manila_lite.drivers.cephfs.nfs.gateway import Gateway
from manila_lite.drivers.cephfs.protocols import export_keys
from manila_lite.drivers.cephfs.protocols.export_keys import ExportKeys
from manila_lite.drivers.cephfs.protocols.nfs_mounts import NfsMounts, mounted_as
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume, Subvolumes
from manila_lite.drivers.file_servers import ganesha_clients
from manila_lite.drivers.interface import Backend
from manila_lite.host.commands import CommandFailed

_NO_KEY = 'The key of its export was gone at the cluster; there is a new one.'
_OTHERS = 'Ceph ids had access that are not of its export, and have no more: {}.'


class Nfs(NfsMounts):
    """NFS clients of the gateway of this host."""

    def __init__(self, backend: Backend, cluster: Cluster, subvolumes: Subvolumes):
        super().__init__(backend, cluster, subvolumes)
        self._keys = ExportKeys(subvolumes, self.sessions, self.evictions)
        self._objects = _objects(backend)

    @classmethod
    def problems(cls, backend: Backend) -> Iterable[values.Problem]:
        return check.problems(backend.conf)

    @computed_once
    def gateway(self) -> Gateway:
        """The gateway of this backend. The cluster must answer: it knows the file system."""
        return Gateway(
            self.backend.state_dir.resolve(),
            self.backend.conf,
            ceph_conf=str(Identity.of(self.backend.conf).conf_path),
            filesystem=self.subvolumes.filesystem,
            node=f'manila_lite.{self.backend.host}',
            key_of=self._keys.of,
            objects=self._objects,
            evict_host=self.sessions.evict_host,
        )

    def set_up(self) -> None:
        """Start the gateway with the exports of an earlier run, or adopt it.

        :raises errors.Final: it does not come up; with its error message.
        """
        try:
            self.gateway.start()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(str(bad)) from bad
        self._keys.remember(self.gateway.keys())

    def retire(self) -> None:
        """Stop the gateway if it ran on this host, and forget its exports: another server has the shares now, and its rules.

        :raises errors.Final: the exports cannot be forgotten; with the error message.
        """
        try:
            self.gateway.retire()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(str(bad)) from bad
        finally:
            self.shut_down()

    def shut_down(self) -> None:
        if self._objects:
            self._objects.close()

    def keep_up(self) -> None:
        """Start the gateway again if it died. Keep out clients that lost their access."""
        self.gateway.ensure()
        super().keep_up()

    # Exports ----------------------------------------------------------------------------------

    def admit(self, share: values.Share) -> None:
        self.gateway.admit(share.id)

    # Access -----------------------------------------------------------------------------------

    def apply(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> dict[str, values.RuleResult]:
        self.gateway.ensure()
        self.gateway.admit(share.id)
        self._keys.grant(share.id, subvolume)
        blocks, results = ganesha_clients.blocks(rules)
        try:
            refused = self._serve(share, subvolume, blocks)
        except CommandFailed:
            # A process that was killed may have got another key, which it could not note.
            if not self._keys.renew(share.id, subvolume):
                raise
            refused = self._serve(share, subvolume, blocks)
        return results | {
            blocks[position].rule_id: values.RuleResult(error=why) for position, why in refused.items()
        }

    def _serve(
        self, share: values.Share, subvolume: Subvolume, blocks: Sequence[ganesha_clients.Block]
    ) -> Mapping[int, str]:
        return self.gateway.server.export(
            share.id, _path(subvolume), [block.text for block in blocks], mounted_as(share, subvolume)
        )

    def defects(
        self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]
    ) -> list[str]:
        if common := self.gateway.defects:
            return list(common)
        there = self._keys.ids(subvolume)
        if not self._keys.is_granted(share.id, there):
            return [_NO_KEY]
        if others := there - {export_keys.auth_id(share.id)}:
            return [_OTHERS.format(', '.join(sorted(others)))]
        blocks, _ = ganesha_clients.blocks(rules)
        return self.gateway.defects_of(
            share.id, _path(subvolume), [block.text for block in blocks], mounted_as(share, subvolume)
        )

    def forget(self, share: values.Share, subvolume: Subvolume) -> None:
        self.gateway.server.forget(share.id)
        self._keys.revoke(share.id, subvolume)

    def discard(self, share: values.Share) -> None:
        self.gateway.server.forget(share.id)


def _objects(backend: Backend) -> Objects | None:
    """Return the objects that all hosts of the backend share, if it is configured for several."""
    if not backend.conf.ganesha_rados_store_enable:
        return None
    mine = Identity.of(backend.conf)
    return Objects(
        str(mine.conf_path),
        mine.cluster,
        mine.auth_id,
        backend.conf.ganesha_rados_store_pool_name,
        f'manila_lite.{backend.host}',
    )


def _path(subvolume: Subvolume) -> Path:
    return Path(vet(subvolume.path))
