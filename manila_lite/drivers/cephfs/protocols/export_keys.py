# SPDX-License-Identifier: Apache-2.0
"""The CephX ids by which NFS-Ganesha reaches the shares: one for each export, confined to the path of its share.

The cluster keeps them with the name of their tenant, so an access rule of a project can never name one. A key is written
only into files that root alone can read.
"""

import errno
from collections.abc import Mapping

from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.nfs.fsal import Key
from manila_lite.drivers.cephfs.volumes.sessions import Sessions
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.host.commands import CommandFailed

#: The tenant of all ids of exports. No project has this id.
TENANT = 'manila_lite.nfs'


def auth_id(share_id: str) -> str:
    """Return the auth id of a share's export, without ``client.``."""
    return f'nfs-{share_id}'


class ExportKeys:
    """The keys of one backend's exports. Safe for threads."""

    def __init__(self, subvolumes: Subvolumes, sessions: Sessions):
        self._subvolumes = subvolumes
        self._sessions = sessions
        self._keys: dict[str, Key] = {}

    def of(self, share_id: str) -> Key:
        """Return the key of an export.

        :raises CommandFailed: it was not granted in this process.
        """
        try:
            return self._keys[share_id]
        except KeyError:
            raise CommandFailed(f'the key of the export of share {share_id} is not known yet') from None

    def remember(self, keys: Mapping[str, Key]) -> None:
        """Take over the keys of exports of an earlier run."""
        self._keys |= keys

    def is_granted(self, share_id: str, subvolume: str) -> bool:
        """Say whether the key is known here and at the cluster."""
        there = {name for entry in self._subvolumes.ask('authorized_list', subvolume) or () for name in entry}
        return share_id in self._keys and auth_id(share_id) in there

    def grant(self, share_id: str, subvolume: str) -> None:
        """Make the key of the export, which reaches the subvolume and nothing else, unless there is one."""
        if not self.is_granted(share_id, subvolume):
            self.renew(share_id, subvolume)

    def renew(self, share_id: str, subvolume: str) -> bool:
        """Ask for the key of the export anew. Returns whether it is another one than before."""
        answer = self._subvolumes.ask('authorize', subvolume, auth_id=auth_id(share_id), access_level='rw', tenant_id=TENANT)
        before, self._keys[share_id] = self._keys.get(share_id), Key(auth_id(share_id), str(answer))
        return before != self._keys[share_id]

    def revoke(self, share_id: str, subvolume: str) -> None:
        """Delete the id of the export, and end its sessions."""
        self._keys.pop(share_id, None)
        try:
            self._subvolumes.ask('deauthorize', subvolume, auth_id=auth_id(share_id))
        except Refused as refused:
            if refused.number != errno.ENOENT:
                raise
        self._sessions.evict(auth_id(share_id))
