# SPDX-License-Identifier: Apache-2.0
"""One file server and its exports: each share is mounted separately, then exported from there."""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from manila_lite import values
from manila_lite.drivers.file_servers.file_server import FileServer
from manila_lite.drivers.file_servers.ganesha_clients import Block
from manila_lite.drivers.file_servers.ganesha_exports import Seen
from manila_lite.host import mounts

#: Returns the path of a share or snapshot in the pool, or None if it is missing.
Source = Callable[[str], Path | None]
#: Returns the context in which something may be mounted or started.
Change = Callable[[], contextlib.AbstractContextManager[None]]
NOT_MOUNTED = 'The share was not mounted; it is again.'


class ProtocolServer:
    """A file server with the mounts of its shares. Safe for threads, if no two change the same share at once."""

    def __init__(
        self, state_dir: Path, server: FileServer, source: Source, change: Change = contextlib.nullcontext
    ):
        self._state_dir = state_dir
        self._source = source
        self._change = change
        self.server = server
        server.launching = change

    def start(self) -> None:
        """Start the server, if it is needed, with the exports of an earlier run.

        :raises CommandFailed: it does not come up.
        """
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self.server.start(self._remount)
        for resource_id in self.server.exports.served():
            mounts.make_safe(
                self.mount_point(resource_id)
            )  # a running server may have mounts of an earlier release

    def servers(self) -> list[psutil.Process]:
        """Return the processes that clients talk to."""
        return [process for process in (self.server.process,) if process]

    @property
    def defects(self) -> tuple[str, ...]:
        """Return in words that the server does not run as configured, or nothing."""
        well = self.server.fits and not self.server.missed
        return () if well else (f'The {self.server.NAME} did not run; it was restarted.',)

    def ensure(self) -> tuple[str, ...]:
        """Make the server run with the present options in the present namespace. Returns the repairs in words.

        :raises CommandFailed: it does not come up, or was stopped on purpose.
        """
        if self.server.fits:
            return (
                (f'The {self.server.NAME} did not run; it was restarted.',)
                if self.server.restart_if_dead()
                else ()
            )
        self.server.start(self._remount, even_if_stopped=False)
        return (f'The {self.server.NAME} did not run where and as it should; it was restarted.',)

    def _remount(self) -> None:
        """Mount all shares that were exported before. One that cannot be mounted is not exported: it would be an empty
        directory.
        """
        for resource_id in self.server.exports.served():
            if source := self._source(resource_id):
                self._mount(resource_id, source)
            else:
                self.server.exports.suspend(resource_id)

    def _mount(self, resource_id: str, source: Path) -> None:
        path = self.mount_point(resource_id)
        with self._change():
            if not _is_same(path, source):
                mounts.unmount(path)
                mounts.bind(source, path)
            mounts.make_safe(path)

    def stop(self) -> None:
        """Stop the server and unmount its shares."""
        self.server.stop()
        for path in sorted((self._state_dir / 'exports').glob('*')):
            mounts.unmount(path)

    def mount_point(self, resource_id: str) -> Path:
        """Return the mount point of a share."""
        return self._state_dir / 'exports' / resource_id

    def blocks(self, rules: Iterable[values.AccessRule]) -> tuple[list[Block], dict[str, values.RuleResult]]:
        """Return the rules that can be expressed, as clients of an export, and a result for every rule."""
        return self.server.blocks(rules)

    def serve(
        self, resource_id: str, source: Path, blocks: Sequence[str], mounted_as: str | None = None
    ) -> Mapping[int, str]:
        """Mount the share, and export it to exactly these clients; see ``Exports.put``."""
        self._mount(resource_id, source)
        return self.server.export(resource_id, self.mount_point(resource_id), blocks, mounted_as)

    def mounts(self, resource_id: str, source: Path) -> bool:
        """Say whether this share, and nothing else, is at its mount point."""
        return _is_same(self.mount_point(resource_id), source)

    def agrees(
        self, resource_id: str, source: Path, blocks: Sequence[str], seen: Seen, mounted_as: str | None = None
    ) -> bool:
        """Say whether the share is mounted, and ``seen`` shows that it is exported to exactly these clients."""
        path = self.mount_point(resource_id)
        return _is_same(path, source) and not self.server.exports.defects(
            resource_id, path, blocks, seen, mounted_as
        )

    def repair(
        self, resource_id: str, source: Path, blocks: Sequence[str], seen: Seen, mounted_as: str | None = None
    ) -> tuple[Mapping[int, str], list[str]]:
        """Mount the share, and export it to exactly these clients, where ``seen`` shows a difference.

        Returns the result of ``Exports.put``, and the repairs in words.
        """
        if self.agrees(resource_id, source, blocks, seen, mounted_as):
            return {}, []
        path, exports = self.mount_point(resource_id), self.server.exports
        mounted = _is_same(path, source)
        seen = exports.inspect([resource_id])[resource_id]  # another call may have changed the export since
        if not mounted:
            # A server that exports the empty directory below must release it first.
            self.withdraw(resource_id)
        refused = self.serve(resource_id, source, blocks, mounted_as)
        kept = [block for position, block in enumerate(blocks) if position not in refused]
        lost = [] if mounted else [NOT_MOUNTED]
        return refused, [*lost, *exports.defects(resource_id, path, kept, seen, mounted_as)]

    def serve_again(self, resource_id: str, source: Path) -> None:
        """Mount the share, and export it to the clients that it had."""
        self.serve(resource_id, source, self.server.exports.clients_of(resource_id))

    def withdraw(self, resource_id: str) -> None:
        """Remove the share's export and its mount; its clients are remembered."""
        self.server.withdraw(resource_id)
        mounts.unmount(self.mount_point(resource_id))

    def forget(self, resource_id: str) -> None:
        """Delete the share's export and mount; a busy mount goes when its last user ends."""
        self.server.forget(resource_id)
        self._unmount(resource_id)

    def discard(self, resource_id: str) -> None:
        """Delete the share's export and mount, for a server that does not run."""
        self.server.exports.discard(resource_id)
        self._unmount(resource_id)

    def _unmount(self, resource_id: str) -> None:
        path = self.mount_point(resource_id)
        mounts.unmount(path)
        if path.exists():
            path.rmdir()


def _is_same(path: Path, source: Path) -> bool:
    """Say whether the source is mounted there; the directory below a mount is another one."""
    try:
        return os.path.samefile(path, source)
    except FileNotFoundError:
        return False
