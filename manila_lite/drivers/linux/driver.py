# SPDX-License-Identifier: Apache-2.0
"""The linux driver: each share of a pool is mounted separately, and exported by one file server or by that of its share
server.

``services.py`` makes the services that do the work, and ``abilities`` gives each call to its service.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from manila_lite import values
from manila_lite.drivers.interface import Backend
from manila_lite.drivers.linux.abilities.backups import LinuxBackups
from manila_lite.drivers.linux.abilities.failover import LinuxFailover
from manila_lite.drivers.linux.abilities.migrations import LinuxServerMigration, LinuxShareMigration
from manila_lite.drivers.linux.abilities.replicas import LinuxReplication
from manila_lite.drivers.linux.abilities.servers import LinuxServerManagement
from manila_lite.drivers.linux.abilities.shares import LinuxResizing
from manila_lite.drivers.linux.abilities.snapshots import LinuxSnapshotManagement, LinuxSnapshots
from manila_lite.drivers.linux.failover import check as failover
from manila_lite.drivers.linux.options import OPTIONS, wants_directory
from manila_lite.drivers.linux.protocols import check


class LinuxDriver(
    LinuxResizing,
    LinuxSnapshots,
    LinuxSnapshotManagement,
    LinuxServerManagement,
    LinuxServerMigration,
    LinuxShareMigration,
    LinuxReplication,
    LinuxBackups,
    LinuxFailover,
):
    """NFS and CIFS shares of this machine.

    NFS clients see the share's size in ``df``, CIFS clients that of the pool. The share's size is enforced (EDQUOT).
    """

    OPTIONS = OPTIONS
    ACCESS_TYPES: ClassVar[Mapping[str, Sequence[str]]] = {'NFS': ('ip',), 'CIFS': ('user',)}

    @classmethod
    def check(cls, backend: Backend) -> Sequence[values.Problem]:
        """Return missing requirements of this machine, with the package that provides each."""
        return [
            *check.problems(backend, needs_btrfs=not wants_directory(backend.conf)),
            *failover.problems(backend.conf),
        ]
