# SPDX-License-Identifier: Apache-2.0
"""Access rules of shares."""

from collections.abc import Mapping, Sequence

from manila_lite import errors, values
from manila_lite.drivers.cephfs.protocols.protocol import Protocol, tried_until_done
from manila_lite.drivers.cephfs.volumes.subvolumes import Subvolumes
from manila_lite.host.locks import Locks


class ShareAccess:
    """The access rules of one backend's shares. Safe for threads."""

    def __init__(self, subvolumes: Subvolumes, protocol: Protocol, locks: Locks):
        self._subvolumes = subvolumes
        self._protocol = protocol
        self._locks = locks

    def update(
        self, share: values.Share, rules: Sequence[values.AccessRule]
    ) -> Mapping[str, values.RuleResult]:
        """Put exactly these rules in force, also for open sessions. Returns a result for every rule."""
        # An id that is let in while the share goes would be left in the cluster for ever.
        with self._locks.of(share.id):
            with tried_until_done(share.id):
                subvolume = self._subvolumes.find(share)
            if subvolume is None and rules:
                raise errors.Final(
                    f'Share {share.id}: its data is not in the file system {self._subvolumes.filesystem}.'
                )
            return self._protocol.apply(share, subvolume, rules) if subvolume else {}
