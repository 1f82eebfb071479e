# SPDX-License-Identifier: Apache-2.0
"""One NFS server with what it exports: each share is mounted on its own, then exported from there."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from manila_lite.drivers.linux import mounts
from manila_lite.drivers.linux.ganesha import Ganesha

#: Says where in the pool a share is, or nothing if it is not there.
Source = Callable[[str], Path | None]


class Outlet:
    """Safe for threads, if no two change the same share at once."""

    def __init__(self, state: Path, conf: Any, netns: str | None, source: Source):
        self._state = state
        self._source = source
        self.nfs = Ganesha(state, conf.linux_nfs_port, netns=netns, graceless=conf.linux_graceless,
                           grace=conf.linux_grace_period)

    def start(self) -> None:
        """The NFS server runs, with the exports of an earlier run.

        :raises CommandFailed: it does not come up.
        """
        self._state.mkdir(parents=True, exist_ok=True)
        self.nfs.start(self._remount)

    def _remount(self) -> None:
        """What was exported before is mounted; what cannot be, is not exported: it would be an empty directory."""
        for ident in self.nfs.exports.served():
            if source := self._source(ident):
                mounts.bind(source, self.mount_point(ident))
            else:
                self.nfs.exports.hold(ident)

    def stop(self) -> None:
        """The NFS server has ended and nothing is mounted for it."""
        self.nfs.stop()
        for place in sorted((self._state / 'exports').glob('*')):
            mounts.unmount(place)

    def mount_point(self, ident: str) -> Path:
        """Return where a share is mounted."""
        return self._state / 'exports' / ident

    def serve(self, ident: str, source: Path, blocks: Sequence[str]) -> Mapping[int, str]:
        """The share is mounted, and exported to exactly these clients; see ``Exports.put``."""
        mounts.bind(source, self.mount_point(ident))
        return self.nfs.export(ident, self.mount_point(ident), blocks)

    def serve_again(self, ident: str, source: Path) -> None:
        """The share is mounted, and exported to the clients that it had."""
        self.serve(ident, source, self.nfs.exports.clients_of(ident))

    def withdraw(self, ident: str) -> None:
        """The share is neither exported nor mounted; its clients are remembered."""
        self.nfs.withdraw(ident)
        mounts.unmount(self.mount_point(ident))

    def forget(self, ident: str) -> None:
        """Nothing is left of the export; a busy mount goes when its last user ends."""
        self.nfs.forget(ident)
        self._unmount(ident)

    def discard(self, ident: str) -> None:
        """Nothing is left of the export of a server that does not run."""
        self.nfs.exports.discard(ident)
        self._unmount(ident)

    def _unmount(self, ident: str) -> None:
        place = self.mount_point(ident)
        mounts.unmount(place)
        if place.exists():
            place.rmdir()
