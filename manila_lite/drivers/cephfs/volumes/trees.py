# SPDX-License-Identifier: Apache-2.0
"""Directories that are too deep for the managers of the cluster.

A tenant can make them, and what is in the trash kills each manager that becomes active: no share of the cluster can be made
any more. So before a subvolume is removed, directories in it are moved up; before a snapshot is copied, it is looked through.
"""

import json
import subprocess
from pathlib import Path

from oslo_log import log

from manila_lite import errors
from manila_lite.drivers.cephfs.cluster import deep_trees
from manila_lite.drivers.cephfs.cluster.answers import Away
from manila_lite.drivers.cephfs.cluster.cluster import Cluster
from manila_lite.drivers.cephfs.cluster.identity import Identity
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.host.commands import ENV, CommandFailed, run

LOG = log.getLogger(__name__)

#: The Python for which distributions build Ceph's bindings.
PYTHON = '/usr/bin/python3'
#: Levels of directories in a subvolume that managers survive: of Ceph 16.2 they survive 900, and die of 1300.
LEVELS = 256
#: Seconds for one answer of a metadata server, which may have to wait for a client that died; and for a whole tree.
_PATIENCE, _WHOLE = 120, 86400.0
#: Seconds for the trash while the service starts or reports.
_MEANWHILE = 30.0


def can_run() -> bool:
    """Say whether this machine has what looks through trees."""
    try:
        run(PYTHON, '-I', '-c', 'import cephfs, rados')
    except CommandFailed:
        return False
    return True


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
        moved = self._walk('flatten', f'/volumes/{self._subvolumes.group}/{name}', _WHOLE)
        if moved:
            LOG.info('Subvolume %s: %s directories were too deep for a manager to remove. They were moved up', name, moved)

    def vet_snapshot(self, source: str, snapshot: str) -> None:
        """Check that managers can copy this snapshot of the subvolume ``source``.

        :raises errors.Final: it has directories that are too deep. :raises Away: metadata servers do not answer.
        """
        if self._walk('look', f'/volumes/{self._subvolumes.group}/{source}/.snap/{snapshot}', _WHOLE):
            raise errors.Final(f'The snapshot has directories more than {LEVELS} levels deep, which Ceph cannot copy. '
                               f'"find . -mindepth {LEVELS + 1} -type d" finds them. Move them, and take another snapshot.')

    def flatten_trash(self, seconds: float = _WHOLE) -> int:
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
            self.problem = ('Whether deleted directories kill the managers of the Ceph cluster is not known. If managers die '
                            'again and again, run "manila-manage cephfs trash"')
            LOG.error('%s: %s', self.problem, bad)
            return
        self._manager, self.problem = now, None
        if moved:
            LOG.error('%s deleted directories were so deep that managers of the Ceph cluster die of them. They were moved up',
                      moved)

    def _walk(self, verb: str, path: str, seconds: float) -> int:
        asked = {'conf': str(self._identity.conf_path), 'cluster': self._identity.cluster, 'entity': self._identity.entity,
                 'filesystem': self._subvolumes.filesystem, 'levels': LEVELS, 'patience': _PATIENCE, 'verb': verb, 'path': path}
        try:
            # Its errors may name directories of tenants, as their bytes are.
            done = subprocess.run([PYTHON, '-I', str(Path(deep_trees.__file__))], input=json.dumps(asked),
                                  env={**ENV, 'CEPH_ARGS': ''}, capture_output=True, text=True, errors='backslashreplace',
                                  timeout=seconds, check=False)
        except (OSError, subprocess.TimeoutExpired) as bad:
            raise Away(f'Directories cannot be looked through: {bad}') from bad
        if done.returncode:
            raise Away(f'Directories cannot be looked through: {done.stderr[-500:] or f"exit status {done.returncode}"}')
        return int(done.stdout)
