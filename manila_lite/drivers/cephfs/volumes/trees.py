# SPDX-License-Identifier: Apache-2.0
"""Directories that are too deep for the managers of the cluster.

A tenant can make them, and what is in the trash kills each manager that becomes active: no share of the cluster can be made
any more. So before a subvolume is removed, directories in it are moved up; before a snapshot is copied, it is looked through.
"""

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster import deep_trees
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.volumes import side_programs
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes

LOG = log.getLogger(__name__)

#: Levels of directories in a subvolume that managers survive: of Ceph 16.2 they survive 900, and die of 1300.
LEVELS = 256
#: Seconds for the trash while the service starts or reports.
_MEANWHILE = 30.0


class Trees:
    """The trees of a backend's subvolumes. Safe for threads."""

    def __init__(self, cluster: Cluster, subvolumes: Subvolumes, identity: Identity):
        self._cluster = cluster
        self._subvolumes = subvolumes
        self._identity = identity
        self._manager: object = None
        #: What an administrator has to do.
        self.problem: str | None = None

    def flatten(self, name: str) -> None:
        """Move directories up that are too deep, in the subvolume of this name, which is removed next. Nobody has access.

        :raises Away: metadata servers do not answer.
        """
        moved = self._walk('flatten', f'/volumes/{self._subvolumes.group}/{name}', side_programs.WHOLE)
        if moved:
            LOG.info(
                'Subvolume %s: %s directories were too deep for a manager to remove. They were moved up',
                name,
                moved,
            )

    def vet_snapshot(self, source: str, snapshot: str) -> None:
        """Check that managers can copy this snapshot of the subvolume ``source``.

        :raises errors.Final: it has directories that are too deep. :raises Away: metadata servers do not answer.
        """
        if self._walk(
            'check', f'/volumes/{self._subvolumes.group}/{source}/.snap/{snapshot}', side_programs.WHOLE
        ):
            raise errors.Final(
                f'The snapshot has directories more than {LEVELS} levels deep, which Ceph cannot copy. '
                f'"find . -mindepth {LEVELS + 1} -type d" finds them. Move them, and take another snapshot.'
            )

    def flatten_trash(self, seconds: float = side_programs.WHOLE) -> int:
        """Move directories up that are too deep, in all that managers are deleting. Return how many there were.

        :raises Away: metadata servers do not answer, or it takes longer.
        """
        return self._walk('flatten trash', '', seconds)

    def keep_up(self) -> None:
        """Flatten the trash if another manager is active than at the last time: the trash may have killed that one."""
        try:
            told = self._cluster.monitor('mgr dump')
            now = (told.get('active_gid'), told.get('available'))
            if now == self._manager:
                return
            moved = self.flatten_trash(_MEANWHILE)
        except errors.ManilaLiteError as bad:
            self.problem = (
                'Whether deleted directories kill the managers of the Ceph cluster is not known. If managers die '
                'again and again, run "manila-manage cephfs trash"'
            )
            LOG.error('%s: %s', self.problem, bad)
            return
        self._manager, self.problem = now, None
        if moved:
            LOG.error(
                '%s deleted directories were so deep that managers of the Ceph cluster die of them. They were moved up',
                moved,
            )

    def _walk(self, verb: str, path: str, seconds: float) -> int:
        # If one metadata server has the whole file system, a number of directories in one is never old.
        exact = any(
            one['mdsmap']['fs_name'] == self._subvolumes.filesystem and len(one['mdsmap']['in']) == 1
            for one in self._cluster.monitor('fs dump')['filesystems']
        )
        return int(
            side_programs.ask(
                deep_trees,
                self._identity,
                self._subvolumes.filesystem,
                seconds,
                verb=verb,
                path=path,
                levels=LEVELS,
                exact=exact,
            )
        )
