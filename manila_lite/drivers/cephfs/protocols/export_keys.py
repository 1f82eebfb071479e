# SPDX-License-Identifier: Apache-2.0
"""The CephX ids by which NFS-Ganesha reaches the shares: one for each export, confined to the path of its share.

The cluster keeps them with the name of their tenant, so an access rule of a project can never name one. A key is written
only into files that root alone can read.
"""

from collections.abc import Mapping

from manila_lite.drivers.cephfs.nfs.fsal import Key
from manila_lite.drivers.cephfs.volumes.auth_ids import AuthIds
from manila_lite.drivers.cephfs.volumes.evictions import Evictions, planned
from manila_lite.drivers.cephfs.volumes.sessions import Sessions
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolume, Subvolumes
from manila_lite.host.commands import CommandFailed

#: The tenant of all ids of exports. No project has this id.
TENANT = 'manila_lite.nfs'


def auth_id(share_id: str) -> str:
    """Return the auth id of a share's export, without ``client.``."""
    return f'nfs-{share_id}'


class ExportKeys:
    """The keys of one backend's exports. Safe for threads."""

    def __init__(self, subvolumes: Subvolumes, sessions: Sessions, evictions: Evictions):
        self._ids = AuthIds(subvolumes)
        self._sessions = sessions
        self._evictions = evictions
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

    def ids(self, subvolume: Subvolume) -> frozenset[str]:
        """Return the ids that the subvolume is open to, or whose sessions must still be ended."""
        return frozenset(self._ids.levels(subvolume.name)) | planned(subvolume.marks)

    def is_granted(self, share_id: str, there: frozenset[str]) -> bool:
        """Say whether the key is known here and at the cluster, whose ids of the subvolume are given."""
        return share_id in self._keys and auth_id(share_id) in there

    def grant(self, share_id: str, subvolume: Subvolume) -> None:
        """Make the key of the export, which reaches the subvolume and nothing else, unless there is one. Shut out all other
        ids: they had access before the share was managed.
        """
        there = self.ids(subvolume)
        self.shut_out(subvolume, there - {auth_id(share_id)})
        if not self.is_granted(share_id, there):
            self.renew(share_id, subvolume)

    def shut_out(self, subvolume: Subvolume, auth_ids: frozenset[str]) -> None:
        """Close the subvolume to these ids, and end their sessions."""
        if not auth_ids:
            return
        self._evictions.plan(subvolume.name, auth_ids)
        for one in sorted(auth_ids):
            self._ids.shut_out(subvolume.name, one)
            self._sessions.evict(one)
        self._evictions.done(subvolume.name, auth_ids, planned(subvolume.marks) - auth_ids)

    def renew(self, share_id: str, subvolume: Subvolume) -> bool:
        """Ask for the key of the export anew. Returns whether it is another one than before."""
        key = self._ids.let_in(subvolume.name, auth_id(share_id), 'rw', TENANT)
        before, self._keys[share_id] = self._keys.get(share_id), Key(auth_id(share_id), key)
        return before != self._keys[share_id]

    def revoke(self, share_id: str, subvolume: Subvolume) -> None:
        """Delete the id of the export, and end its sessions."""
        self._keys.pop(share_id, None)
        mine = auth_id(share_id)
        if mine not in self._ids.levels(subvolume.name):
            # A manager of the cluster that died may have made the id without the list.
            self._ids.let_in(subvolume.name, mine, 'rw', TENANT)
        self._ids.shut_out(subvolume.name, mine)
        self._sessions.evict(mine)
