# SPDX-License-Identifier: Apache-2.0
"""One file server with what it exports: each share is mounted on its own, then exported from there."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from manila_lite import kinds
from manila_lite.drivers.linux import mounts
from manila_lite.drivers.linux.clients import Block
from manila_lite.drivers.linux.exports import Seen
from manila_lite.drivers.linux.file_server import FileServer

#: Says where in the pool a share is, or nothing if it is not there.
Source = Callable[[str], Path | None]
NOT_MOUNTED = 'The share was not mounted; it is again.'


class Outlet:
    """Safe for threads, if no two change the same share at once."""

    def __init__(self, state: Path, server: FileServer, source: Source):
        self._state = state
        self._source = source
        self.server = server

    def start(self) -> None:
        """The server runs, with the exports of an earlier run; if it is needed.

        :raises CommandFailed: it does not come up.
        """
        self._state.mkdir(parents=True, exist_ok=True)
        self.server.start(self._remount)
        for ident in self.server.exports.served():
            mounts.make_safe(self.mount_point(ident))       # a server that runs may have those of an earlier release

    def servers(self) -> list[psutil.Process]:
        """Return the programs that clients talk to."""
        return [process for process in (self.server.process,) if process]

    @property
    def amiss(self) -> tuple[str, ...]:
        """Return in words that the server does not run as it should."""
        well = self.server.fits and not self.server.missed
        return () if well else (f'The {self.server.NAME} did not run; it was started anew.',)

    def ensure(self) -> tuple[str, ...]:
        """The server runs with the options of now, in the namespace of now. Returns in words what was amiss.

        :raises CommandFailed: it does not come up, or was stopped on purpose.
        """
        if self.server.fits:
            return (f'The {self.server.NAME} did not run; it was started anew.',) if self.server.awake() else ()
        self.server.start(self._remount, even_if_stopped=False)
        return (f'The {self.server.NAME} did not run where and as it should; it was started anew.',)

    def _remount(self) -> None:
        """What was exported before is mounted; what cannot be, is not exported: it would be an empty directory."""
        for ident in self.server.exports.served():
            if source := self._source(ident):
                self._mount(ident, source)
            else:
                self.server.exports.hold(ident)

    def _mount(self, ident: str, source: Path) -> None:
        place = self.mount_point(ident)
        if not _is_same(place, source):
            mounts.unmount(place)
            mounts.bind(source, place)
        mounts.make_safe(place)

    def stop(self) -> None:
        """The server has ended and nothing is mounted for it."""
        self.server.stop()
        for place in sorted((self._state / 'exports').glob('*')):
            mounts.unmount(place)

    def mount_point(self, ident: str) -> Path:
        """Return where a share is mounted."""
        return self._state / 'exports' / ident

    def blocks(self, rules: Iterable[kinds.AccessRule]) -> tuple[list[Block], dict[str, kinds.RuleResult]]:
        """Return as clients of an export those rules that can be expressed, and a result for every rule."""
        return self.server.blocks(rules)

    def serve(self, ident: str, source: Path, blocks: Sequence[str], mounted_as: str | None = None) -> Mapping[int, str]:
        """The share is mounted, and exported to exactly these clients; see ``Exports.put``."""
        self._mount(ident, source)
        return self.server.export(ident, self.mount_point(ident), blocks, mounted_as)

    def mounts(self, ident: str, source: Path) -> bool:
        """Say whether the share is mounted, and nothing else in its place."""
        return _is_same(self.mount_point(ident), source)

    def mend(self, ident: str, source: Path, blocks: Sequence[str], seen: Seen,
             mounted_as: str | None = None) -> tuple[Mapping[int, str], list[str]]:
        """The share is mounted, and exported to exactly these clients. What was ``seen`` to be so is not touched.

        Returns what ``Exports.put`` does, and in words what was amiss.
        """
        place, exports = self.mount_point(ident), self.server.exports
        mounted = _is_same(place, source)
        if mounted and not exports.amiss(ident, place, blocks, seen, mounted_as):
            return {}, []
        seen = exports.look([ident])[ident]     # it may have been changed since by whom it may
        if not mounted:
            # Who serves the directory beneath must let go of it.
            self.withdraw(ident)
        refused = self.serve(ident, source, blocks, mounted_as)
        kept = [block for position, block in enumerate(blocks) if position not in refused]
        lost = [] if mounted else [NOT_MOUNTED]
        return refused, [*lost, *exports.amiss(ident, place, kept, seen, mounted_as)]

    def serve_again(self, ident: str, source: Path) -> None:
        """The share is mounted, and exported to the clients that it had."""
        self.serve(ident, source, self.server.exports.clients_of(ident))

    def withdraw(self, ident: str) -> None:
        """The share is neither exported nor mounted; its clients are remembered."""
        self.server.withdraw(ident)
        mounts.unmount(self.mount_point(ident))

    def forget(self, ident: str) -> None:
        """Nothing is left of the export; a busy mount goes when its last user ends."""
        self.server.forget(ident)
        self._unmount(ident)

    def discard(self, ident: str) -> None:
        """Nothing is left of the export of a server that does not run."""
        self.server.exports.discard(ident)
        self._unmount(ident)

    def _unmount(self, ident: str) -> None:
        place = self.mount_point(ident)
        mounts.unmount(place)
        if place.exists():
            place.rmdir()


def _is_same(place: Path, source: Path) -> bool:
    """Say whether the source is mounted there; what is beneath a mount is another directory."""
    try:
        return os.path.samefile(place, source)
    except FileNotFoundError:
        return False
