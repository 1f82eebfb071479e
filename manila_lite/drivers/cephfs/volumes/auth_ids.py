# SPDX-License-Identifier: Apache-2.0
"""The auth ids that a subvolume is open to.

A manager of the cluster that dies while it lets an id in or shuts it out leaves the id out of its list, whether the id has
access or not. So each id is noted, in a mark of the subvolume, before it is let in, and until it is shut out.

A manager that shuts an id out of one subvolume takes its access to the monitors away, too, although the id is open to others:
nobody could mount these anew (seen with release 16.2). To let the id in once more, at another subvolume, gives it back.
"""

import errno
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from manila_lite.drivers.cephfs.cluster.answers import Refused
from manila_lite.drivers.cephfs.volumes.subvolumes import NOTED, Subvolumes, note, noted_in
from manila_lite.host.locks import Locks


class AuthIds:
    """The auth ids of one backend's subvolumes. Safe for threads."""

    def __init__(self, subvolumes: Subvolumes):
        self._subvolumes = subvolumes
        self._locks = Locks()
        #: By id, the names of subvolumes that this process let it into, each with level and tenant.
        self._open: dict[str, dict[str, tuple[str, str]]] = {}

    def levels(self, name: str) -> dict[str, str]:
        """Return the ids that the subvolume is open to, with their levels as Ceph names them."""
        return {
            auth_id: level
            for entry in self._subvolumes.ask('authorized_list', name) or ()
            for auth_id, level in entry.items()
        }

    def let_in(self, name: str, auth_id: str, level: str, tenant: str) -> str:
        """Open the subvolume to the id. Returns its key.

        :raises Refused: the id belongs to another tenant, or to none (``EPERM``).
        """
        with self._locks.of(auth_id):
            key = self._authorize(name, auth_id, level, tenant)
            self._open.setdefault(auth_id, {})[name] = (level, tenant)
        return key

    def _authorize(self, name: str, auth_id: str, level: str, tenant: str) -> str:
        return str(
            self._subvolumes.ask('authorize', name, auth_id=auth_id, access_level=level, tenant_id=tenant)
        )

    def shut_out(self, name: str, auth_id: str) -> None:
        """Close the subvolume to the id, if it is open. Sessions that it has go on."""
        with self._locks.of(auth_id):
            others = self._open.get(auth_id, {})
            others.pop(name, None)
            self._deauthorize(name, auth_id)
            self._keep_usable(auth_id, others)
            if not others:
                self._open.pop(auth_id, None)

    def _deauthorize(self, name: str, auth_id: str) -> None:
        for last in (False, True):
            try:
                self._subvolumes.ask('deauthorize', name, auth_id=auth_id)
            except Refused as refused:
                if refused.number == errno.ENOENT:
                    return
                # What a manager that died had noted about the id is deleted by the first try, which fails of that.
                if refused.number != errno.EINVAL or last:
                    raise
            else:
                return

    def _keep_usable(self, auth_id: str, others: dict[str, tuple[str, str]]) -> None:
        """Let the id in where it is already, at one of the other subvolumes that is still there."""
        for name, (level, tenant) in tuple(others.items()):
            try:
                self._authorize(name, auth_id, level, tenant)
            except Refused as refused:
                if refused.number not in (errno.ENOENT, errno.EPERM):
                    raise
                del others[name]
            else:
                return

    def note(self, name: str, before: AbstractSet[str], now: AbstractSet[str]) -> None:
        """Note that these ids may have access from now on, and no others; ``before`` are those noted so far."""
        note(self._subvolumes, name, NOTED, sorted(before), sorted(now))


def noted(marks: Mapping[str, str]) -> frozenset[str]:
    """Return the ids that may have access, by the marks of a subvolume."""
    return frozenset(noted_in(marks, NOTED) or ())
