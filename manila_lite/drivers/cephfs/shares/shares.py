# SPDX-License-Identifier: Apache-2.0
"""Creation, deletion, resizing and copying of shares."""

import errno
import time
from collections.abc import Mapping, Sequence
from typing import Any

from manila_lite import errors, values
from manila_lite.drivers.cephfs.cluster.answers import Refused, tolerated
from manila_lite.drivers.cephfs.options import CephfsOptions
from manila_lite.drivers.cephfs.protocols.protocol import tried_until_done
from manila_lite.drivers.cephfs.shares.share_service import ShareService
from manila_lite.drivers.cephfs.volumes.objects import Objects, namespace_of
from manila_lite.drivers.cephfs.volumes.subvolumes import GIB, SHARE, UNMANAGED, Subvolume
from manila_lite.drivers.cephfs.volumes.trees import Trees
from manila_lite.host.ids import vet_id

#: Seconds between two looks at a copy within a call, and until the next call.
_LOOK, _LOOK_MOST, _LATER = 0.1, 0.5, 1.0
_ENDED_BADLY = ('failed', 'canceled')
#: State of what a manager of the cluster left that died as it began to make a subvolume.
_HALF = 'half'


class Shares(ShareService):
    """The shares of one backend."""

    #: Seconds for which a call waits for a copy. Then it is to be made again: a copy occupies no thread of the service.
    COPY_SECONDS = 1.0

    def __init__(self, *used: Any, trees: Trees, objects: Objects, conf: CephfsOptions):
        super().__init__(*used)
        self._trees = trees
        self._objects = objects
        self._conf = conf

    def vet(self, share: values.Share) -> None:
        """Check that the share can be on this backend.

        :raises errors.Final: it cannot.
        """
        vet_id(share.id)
        if share.proto != self._protocol.NAME:
            raise errors.Final(f'This backend does not serve {share.proto}, only {self._protocol.NAME}.')
        if share.pool not in self._pools.names():
            raise errors.Final(
                f'There is no pool {share.pool!r} here, only {", ".join(self._pools.names())}.'
            )

    def create(self, share: values.Share) -> Sequence[values.ExportLocation]:
        """Create an empty share, with a RADOS namespace of its own, to which its clients are confined."""
        self.vet(share)
        self._protocol.admit(share)
        present = self._subvolumes.get(share.id)
        if present and present.marks.get(SHARE, share.id) != share.id:
            raise errors.Final(f'There is a subvolume {share.id} that is no share of this service.')
        subvolume = self._make(share)
        if not subvolume.has_directory:
            # Clients would see the directory that was begun first, and snapshots would not outlive the share.
            self._remove(share.id)
            subvolume = self._make(share)
        return self._served(share, subvolume)

    def _make(self, share: values.Share) -> Subvolume:
        self._subvolumes.ask(
            'create',
            share.id,
            size=share.size * GIB,
            mode=self._conf.cephfs_volume_mode,
            pool_layout=share.pool,
            namespace_isolated=True,
        )
        return self._subvolumes.require(share)

    def _served(self, share: values.Share, subvolume: Subvolume) -> Sequence[values.ExportLocation]:
        """Mark a new share as one, and serve it to nobody yet."""
        self._subvolumes.mark(share.id, SHARE, share.id)
        self._sizes.remember(share.id, share.size)
        self._protocol.apply(share, subvolume, ())
        return self._protocol.export_locations(share, subvolume)

    # Copies -----------------------------------------------------------------------------------

    def create_from_snapshot(
        self, share: values.Share, snapshot: values.Snapshot, name: str | None, source: Subvolume | None
    ) -> Sequence[values.ExportLocation]:
        """Have the cluster copy the snapshot, called ``name`` there, of the subvolume ``source``.

        :raises errors.Again: it still copies.
        """
        self.vet(share)
        self._protocol.admit(share)
        state = self._copy_state(share.id)
        if state == _HALF:
            self._remove(share.id)
        if state in (None, _HALF):
            if name is None or source is None:
                raise errors.Final(
                    f'Snapshot {snapshot.id} is not in the file system {self._subvolumes.filesystem}.'
                )
            if source.data_pool and source.data_pool != share.pool:
                # Ceph would give clients of the copy the whole pool.
                raise errors.Final(
                    f'A share from snapshot {snapshot.id} can only be in the pool {source.data_pool}.'
                )
            self._trees.vet_snapshot(source.name, name)
            self._begin_copy(share, snapshot, source.name, name)
        self._await_copy(share, source, name)
        self._subvolumes.resize(share.id, share.size)
        return self._served(share, self._subvolumes.require(share))

    def _begin_copy(self, share: values.Share, snapshot: values.Snapshot, source: str, name: str) -> None:
        try:
            self._subvolumes.clone(source, name, share.id)
        except Refused as refused:
            if refused.number == errno.EEXIST:
                return
            self._remove(share.id)
            if refused.number == errno.ENOENT:
                raise errors.Final(f'Snapshot {snapshot.id} is not in the file system.') from refused
            raise

    def _copy_state(self, name: str) -> str | None:
        """Return the state of a copy, 'complete' for any other subvolume, and None if there is none."""
        found = self._subvolumes.get(name)
        if found:
            return _HALF if found.is_half else 'complete'
        try:
            return str(self._subvolumes.ask_clone('status', name)['status']['state'])
        except Refused as refused:
            if refused.number == errno.ENOENT:
                return None
            raise

    def _await_copy(self, share: values.Share, source: Subvolume | None, snapshot: str | None) -> None:
        end = time.monotonic() + self.COPY_SECONDS
        pause = _LOOK
        while (state := self._copy_state(share.id)) != 'complete':
            if state == _HALF:
                raise errors.Again(
                    _LATER, f'Share {share.id} is copied anew: a manager of the cluster died as it began.'
                )
            if state is None or state in _ENDED_BADLY:
                self._remove(share.id)
                raise errors.Final('The cluster could not copy the snapshot.')
            if time.monotonic() > end:
                raise errors.Again(
                    _LATER,
                    f'Share {share.id} is being copied: {state}.',
                    progress=self._progress(share.id, source, snapshot),
                )
            time.sleep(pause)
            pause = min(pause * 2, _LOOK_MOST)

    def _progress(self, name: str, source: Subvolume | None, snapshot: str | None) -> dict[str, int] | None:
        """Return how far the copy is, if that is known."""
        if source is None or snapshot is None:
            return None
        done = self._subvolumes.size_of(name)
        total = self._subvolumes.size_of(f'{source.name}/.snap/{snapshot}')
        if done is None or not total:
            return None
        return {'percent': min(99, 100 * done // total), 'bytes_done': min(done, total), 'bytes_total': total}

    # Deletion ---------------------------------------------------------------------------------

    def delete(self, share: values.Share) -> None:
        """Shut all clients out, and delete the share. Snapshots that are still there stay, and can be copied."""
        vet_id(share.id)
        with self._locks.of(share.id):
            subvolume = self._subvolumes.find(share)
            half = subvolume is None and self._is_half(share.id)
            if subvolume is None and not half:
                subvolume = self._subvolumes.find(share)  # a copy may have ended between these looks
            if subvolume:
                self._protocol.forget(share, subvolume)
                self._objects.plan(subvolume.namespace)
                self._remove(subvolume.name)
            else:
                self._protocol.discard(share)
                if half:
                    self._remove(share.id)
        # Also of a share whose subvolume is gone already: the process may have died in between.
        self._objects.remove(subvolume.namespace if subvolume else namespace_of(share.id))
        self._sizes.forget(share.id)

    def _is_half(self, name: str) -> bool:
        """Say whether a subvolume of this name was begun and has no mark yet: a copy that is under way, or failed; or what a
        manager of the cluster left when it died.
        """
        found = self._subvolumes.get(name)
        # Else it is another share, or only its snapshots are left.
        return found.is_half if found else self._copy_state(name) is not None

    def _remove(self, name: str) -> None:
        """Remove the subvolume, with ``force`` also a copy that was cancelled."""
        self._trees.flatten(name)
        for tries in range(3):
            try:
                self._subvolumes.ask('rm', name, force=True)
            except Refused as refused:
                if refused.number == errno.ENOENT:
                    return
                if refused.number == errno.ENOTEMPTY:
                    self._subvolumes.ask('rm', name, force=True, retain_snapshots=True)
                    return
                if refused.number != errno.EAGAIN or tries == 2:
                    raise
                self._cancel(name)
            else:
                return

    def _cancel(self, name: str) -> None:
        # It may just have ended, one way or another.
        with tolerated(errno.EINVAL, errno.ENOENT, errno.EEXIST):
            self._subvolumes.ask_clone('cancel', name)

    # Access -----------------------------------------------------------------------------------

    def update_access(
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

    # Size -------------------------------------------------------------------------------------

    def extend(self, share: values.Share, new_size: int) -> None:
        """Raise the limit to ``new_size`` GiB; clients that have the share mounted can use it at once."""
        subvolume = self._subvolumes.require(share)
        self._sizes.remember(share.id, new_size)
        self._subvolumes.resize(subvolume.name, new_size)

    def shrink(self, share: values.Share, new_size: int) -> None:
        """Lower the limit to ``new_size`` GiB, unless more is used."""
        subvolume = self._subvolumes.require(share)
        if subvolume.used > new_size * GIB:
            raise _too_full(subvolume, new_size)
        try:
            self._subvolumes.resize(subvolume.name, new_size, shrink=True)
        except Refused as refused:
            if refused.number != errno.EINVAL:
                raise
            raise _too_full(self._subvolumes.require(share), new_size) from refused
        self._sizes.remember(share.id, new_size)


def _too_full(subvolume: Subvolume, new_size: int) -> errors.RefusedShrink:
    return errors.RefusedShrink(
        f'The share holds {subvolume.used / GIB:.2f} GiB, more than the {new_size} GiB asked for.'
    )


def is_unmanaged(subvolume: Subvolume) -> bool:
    """Say whether the subvolume belongs to no share now: it was never one of this service, or is no more."""
    return subvolume.marks.get(SHARE, UNMANAGED) == UNMANAGED
