# SPDX-License-Identifier: Apache-2.0
"""What shares take, by the recursive sums that CephFS keeps of each directory."""

from collections.abc import Sequence

from manila_lite import values
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes, parts_of


class Measuring:
    """Reads the sums of the directories of many shares through one mount, of which ``df`` shows multiples of 4 MiB."""

    def __init__(self, cluster: Cluster, subvolumes: Subvolumes):
        self._cluster, self._subvolumes = cluster, subvolumes

    def usage(self, targets: Sequence[values.UsageTarget]) -> dict[str, values.ShareUsage]:
        """Return what each of these shares takes, by its id. CephFS does not know what only snapshots hold.

        :raises Away: the cluster does not answer. :raises Refused: it does not let the service look.
        """
        paths = {target.id: self._path(target) for target in targets}
        found = self._cluster.usage_of(self._subvolumes.filesystem, list(paths.values()))
        return {
            share_id: values.ShareUsage(used_bytes=found[path][0], files=found[path][1])
            for share_id, path in paths.items()
            if path in found
        }

    def _path(self, target: values.UsageTarget) -> str:
        """Return the directory that clients mount, if its path tells. The one above also has a small file of the cluster."""
        parts = parts_of(target.export_path) or (self._subvolumes.group, target.id)
        return '/'.join(('/volumes', *parts))
