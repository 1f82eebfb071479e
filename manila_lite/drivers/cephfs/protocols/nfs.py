# SPDX-License-Identifier: Apache-2.0
"""NFS: clients mount a share from an NFS-Ganesha of this host, which reaches each share by a CephX id of its own.

A new share is mounted by its id, as on other backends. A subvolume with another name that is managed as a share is mounted
by its path in the file system, as Manila exports it: its clients need not mount it anew.
"""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.nfs import check
from manila_lite.drivers.cephfs.nfs.fsal import vet
from manila_lite.drivers.cephfs.nfs.gateway import Gateway
from manila_lite.drivers.cephfs.nfs.objects import Objects
from manila_lite.drivers.cephfs.nfs.options import addresses
from manila_lite.drivers.cephfs.protocols import export_keys
from manila_lite.drivers.cephfs.protocols.export_keys import ExportKeys
from manila_lite.drivers.cephfs.protocols.protocol import Protocol
from manila_lite.drivers.cephfs.protocols.sessions import Sessions
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume, Subvolumes
from manila_lite.drivers.file_servers import export_locations, ganesha_clients
from manila_lite.drivers.interface import Backend
from manila_lite.host.commands import CommandFailed

#: What clients mount if it is not the path in the file system.
_BY_ID = re.compile(r'(?:[^/]+:)?/shares/([^/]+)')
_NO_KEY = 'The key of its export was gone at the cluster; there is a new one.'
_OTHERS = 'Ceph ids had access that are not of its export, and have no more: {}.'


class Nfs(Protocol):
    """NFS clients."""

    NAME = 'NFS'

    def __init__(self, backend: Backend, cluster: Cluster, subvolumes: Subvolumes):
        super().__init__(backend, cluster, subvolumes)
        self._keys = ExportKeys(subvolumes, Sessions(cluster, subvolumes))
        self._objects = _objects(backend)

    @classmethod
    def problems(cls, backend: Backend) -> Iterable[values.Problem]:
        """Return what this machine lacks for NFS-Ganesha, and options without sense."""
        return check.problems(backend.conf)

    @functools.cached_property
    def gateway(self) -> Gateway:
        """The gateway of this backend. The cluster must answer: it knows the file system."""
        return Gateway(self.backend.state_dir.resolve(), self.backend.conf,
                       ceph_conf=str(Identity.of(self.backend.conf).conf_path), filesystem=self.subvolumes.filesystem,
                       node=f'manila_lite.{self.backend.host}', key_of=self._keys.of, objects=self._objects)

    def set_up(self) -> None:
        """Start the gateway with the exports of an earlier run, or adopt it.

        :raises errors.Final: it does not come up; with its error message.
        """
        try:
            self.gateway.start()
        except (CommandFailed, OSError) as bad:
            raise errors.Final(str(bad)) from bad
        self._keys.remember(self.gateway.keys())

    def shut_down(self) -> None:
        """Close the connection to the pool."""
        if self._objects:
            self._objects.close()

    def keep_up(self) -> None:
        """Start the gateway again if it died."""
        self.gateway.ensure()

    # Exports ----------------------------------------------------------------------------------

    def admit(self, share: values.Share) -> None:
        """Check that the gateway can export one more share."""
        self.gateway.admit(share.id)

    def export_locations(self, share: values.Share, subvolume: Subvolume) -> list[values.ExportLocation]:
        """Return one location for each address of the gateway, IPv4 first."""
        return export_locations.at(share, addresses(self.backend.conf), _mounted_as(share, subvolume))

    def capabilities(self) -> Mapping[str, Any]:
        """Return which IP versions the gateway has."""
        known = addresses(self.backend.conf)
        return {'ipv4_support': any(':' not in one for one in known), 'ipv6_support': any(':' in one for one in known)}

    def dependencies(self) -> Mapping[str, str]:
        """Return the addresses of the gateway."""
        return {'addresses': ','.join(addresses(self.backend.conf))}

    def path_of(self, export_path: str) -> str:
        """Return the path in the file system of a share that is mounted by its id, else the path as given."""
        named = _BY_ID.fullmatch(export_path)
        found = self.subvolumes.get(named[1]) if named else None
        return found.path if found and found.path else export_path

    # Access -----------------------------------------------------------------------------------

    def vet(self, rules: Sequence[values.AccessRule]) -> dict[str, values.RuleResult]:
        """Return a result for every rule."""
        return ganesha_clients.blocks(rules)[1]

    def apply(self, share: values.Share, subvolume: Subvolume,
              rules: Sequence[values.AccessRule]) -> dict[str, values.RuleResult]:
        """Export the share to exactly these clients, also for open sessions."""
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
        return results | {blocks[position].rule_id: values.RuleResult(error=why) for position, why in refused.items()}

    def _serve(self, share: values.Share, subvolume: Subvolume, blocks: Sequence[ganesha_clients.Block]) -> Mapping[int, str]:
        return self.gateway.serve(share.id, _path(subvolume), [block.text for block in blocks], _mounted_as(share, subvolume))

    def defects(self, share: values.Share, subvolume: Subvolume, rules: Sequence[values.AccessRule]) -> list[str]:
        """Return what the share's export lacks, or the whole gateway."""
        if common := self.gateway.defects:
            return list(common)
        there = self._keys.ids(subvolume)
        if not self._keys.is_granted(share.id, there):
            return [_NO_KEY]
        if others := there - {export_keys.auth_id(share.id)}:
            return [_OTHERS.format(', '.join(sorted(others)))]
        blocks, _ = ganesha_clients.blocks(rules)
        return self.gateway.defects_of(share.id, _path(subvolume), [block.text for block in blocks],
                                       _mounted_as(share, subvolume))

    def forget(self, share: values.Share, subvolume: Subvolume) -> None:
        """Remove the export, delete its key and end its sessions."""
        self.gateway.forget(share.id)
        self._keys.revoke(share.id, subvolume)

    def discard(self, share: values.Share) -> None:
        """Remove the export, which leads nowhere."""
        self.gateway.forget(share.id)


def _objects(backend: Backend) -> Objects | None:
    """Return the objects that all hosts of the backend share, if it is configured for several."""
    if not backend.conf.ganesha_rados_store_enable:
        return None
    mine = Identity.of(backend.conf)
    return Objects(str(mine.conf_path), mine.cluster, mine.auth_id, backend.conf.ganesha_rados_store_pool_name,
                   f'manila_lite.{backend.host}')


def _path(subvolume: Subvolume) -> Path:
    return Path(vet(subvolume.path))


def _mounted_as(share: values.Share, subvolume: Subvolume) -> str:
    """Return the path by which clients mount the share."""
    if share.mount_point_name or subvolume.name == share.id:
        return f'/shares/{share.mount_point_name or share.id}'
    return vet(subvolume.path)
