# SPDX-License-Identifier: Apache-2.0
"""The cephfs driver: each share is a subvolume of a CephFS file system, made by the cluster's volumes module.

``services.py`` makes the services that do the work, and ``abilities`` gives each call to its service.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from manila_lite import values
from manila_lite.drivers.cephfs import start_checks
from manila_lite.drivers.cephfs.abilities.shares import CephfsResizing
from manila_lite.drivers.cephfs.abilities.snapshots import CephfsSnapshotManagement, CephfsSnapshots
from manila_lite.drivers.cephfs.nfs import options as nfs_options
from manila_lite.drivers.cephfs.options import OPTIONS
from manila_lite.drivers.interface import Backend


class CephfsDriver(CephfsResizing, CephfsSnapshots, CephfsSnapshotManagement):
    """Shares of one file system and one protocol. The share's size is enforced by the clients (EDQUOT)."""

    OPTIONS = (*OPTIONS, *nfs_options.OPTIONS)
    ACCESS_TYPES: ClassVar[Mapping[str, Sequence[str]]] = {'CEPHFS': ('cephx',), 'NFS': ('ip',)}

    @classmethod
    def check(cls, backend: Backend) -> Sequence[values.Problem]:
        """Return missing requirements of this machine, and the objections of the cluster, if it answers."""
        return list(start_checks.problems(backend))
