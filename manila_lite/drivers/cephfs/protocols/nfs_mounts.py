# SPDX-License-Identifier: Apache-2.0
"""The mount paths of NFS clients. They are the same for both kinds of NFS server.

A new share is mounted by its id, as on other backends. A subvolume with another name that is managed as a share is mounted
by its path in the file system, as Manila exports it: its clients need not mount it anew.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import values
from manila_lite.drivers.cephfs.nfs.fsal import vet
from manila_lite.drivers.cephfs.nfs.options import addresses
from manila_lite.drivers.cephfs.protocols.protocol import Protocol
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume
from manila_lite.drivers.file_servers import export_locations, ganesha_clients

#: What clients mount if it is not the path in the file system.
_BY_ID = re.compile(r'(?:[^/]+:)?/shares/([^/]+)')


class NfsMounts(Protocol):
    """The part of a protocol of NFS clients that is the same for every server."""

    NAME = 'NFS'

    def export_locations(self, share: values.Share, subvolume: Subvolume) -> list[values.ExportLocation]:
        """Return one location for each address of the NFS server, IPv4 first."""
        return export_locations.at(
            share, addresses(self.backend.conf), self._ports, mounted_as(share, subvolume)
        )

    @property
    def _ports(self) -> Mapping[str, int]:
        """The port of the NFS server here. That of an NFS cluster is the usual one."""
        conf = self.backend.conf
        return {} if conf.cephfs_nfs_cluster_id else {self.NAME: conf.cephfs_nfs_port}

    def capabilities(self) -> Mapping[str, Any]:
        known = addresses(self.backend.conf)
        return {
            'ipv4_support': any(':' not in one for one in known),
            'ipv6_support': any(':' in one for one in known),
            values.MOUNT_OPTIONS: export_locations.mount_options(self._ports),
        }

    def dependencies(self) -> Mapping[str, str]:
        conf = self.backend.conf
        return {
            'nfs_cluster': conf.cephfs_nfs_cluster_id or '',
            'addresses': ','.join(addresses(conf)),
            'ports': str(self._ports),
        }

    def path_of(self, export_path: str) -> str:
        """Return the path in the file system of a share that is mounted by its id, else the path as given."""
        named = _BY_ID.fullmatch(export_path)
        found = self.subvolumes.get(named[1]) if named else None
        return found.path if found and found.path else export_path

    def vet(self, rules: Sequence[values.AccessRule]) -> dict[str, values.RuleResult]:
        return ganesha_clients.clients(rules)[1]


def mounted_as(share: values.Share, subvolume: Subvolume) -> str:
    """Return the path by which clients mount the share."""
    if share.mount_point_name or subvolume.name == share.id:
        return by_id(share)
    return vet(subvolume.path)


def by_id(share: values.Share) -> str:
    """Return the path by which clients mount a share that was made here."""
    return vet(f'/shares/{share.mount_point_name or share.id}')
