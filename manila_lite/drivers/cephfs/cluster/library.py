# SPDX-License-Identifier: Apache-2.0
"""The way to a cluster by Ceph's Python bindings: one connection, used by all threads."""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from manila_lite.drivers.cephfs.cluster.answers import Answer, Away, Refused
from manila_lite.drivers.cephfs.cluster.deadline import Hangs, call
from manila_lite.drivers.cephfs.cluster.identity import Identity

#: The library must write no files and no output of its own, whatever the configuration says for daemons.
QUIET = {
    'log_file': '',
    'log_to_file': 'false',
    'log_to_stderr': 'false',
    'err_to_stderr': 'false',
    'admin_socket': '',
}
#: Bytes and files in a directory and below.
_FIGURES = ('rbytes', 'rfiles')
#: Seconds that connecting may take beyond the time that the library was given, which it keeps roughly.
_MARGIN = 2.0


class Library:
    """Commands by the bindings, the modules ``rados`` and ``cephfs``. Metadata servers need the second one."""

    def __init__(self, rados: ModuleType, cephfs: ModuleType, identity: Identity):
        self._rados = rados
        self._cephfs = cephfs
        self._identity = identity
        self._lock = threading.Lock()
        self._open: _Connection | None = None

    def manager(self, command: Mapping[str, Any], seconds: float, content: bytes = b'') -> Answer:
        """Send a command to the active manager, with the content of a file if it takes one."""
        return self._send(lambda to: to.rados.mgr_command(json.dumps(command), content), seconds)

    def monitor(self, command: Mapping[str, Any], seconds: float) -> Answer:
        return self._send(lambda to: to.rados.mon_command(json.dumps(command), b''), seconds)

    def metadata_server(self, rank: str, command: Mapping[str, Any], seconds: float) -> Answer:
        """Send a command to the metadata server with the rank."""
        return self._send(
            lambda to: to.client(self._cephfs).mds_command(rank, json.dumps(command), ''), seconds
        )

    def directory_size(self, filesystem: str, path: str, seconds: float) -> int | None:
        """Return the bytes in a directory and below."""
        connection = self._connection(seconds)
        size = self._ask(
            lambda: connection.use(
                lambda to: to.mounted(self._cephfs, filesystem).getxattr(path, 'ceph.dir.rbytes')
            ),
            seconds,
        )
        return int(size)

    def usage_of(
        self, filesystem: str, paths: Sequence[str], seconds: float
    ) -> Mapping[str, tuple[int, int]]:
        """Return the bytes and the files in each of these directories and below, by path; nothing of missing ones."""
        connection = self._connection(seconds)

        def look(to: '_Connection') -> dict[str, tuple[int, int]]:
            mount, found = to.mounted(self._cephfs, filesystem), {}
            for path in paths:
                with contextlib.suppress(self._cephfs.ObjectNotFound):
                    size, files = (int(mount.getxattr(path, f'ceph.dir.{name}')) for name in _FIGURES)
                    found[path] = size, files
            return found

        usage: dict[str, tuple[int, int]] = self._ask(lambda: connection.use(look), seconds)
        return usage

    def close(self) -> None:
        """Close the connection, as soon as no call uses it: the library would crash."""
        with self._lock:
            gone, self._open = self._open, None
        if gone:
            gone.close()

    def _send(self, send: Callable[['_Connection'], Any], seconds: float) -> Answer:
        connection = self._connection(seconds)
        number, output, said = self._ask(lambda: connection.use(send), seconds)
        return Answer(abs(number), _text(output), _text(said))

    def _connection(self, seconds: float) -> '_Connection':
        with self._lock:
            if self._open is None:
                self._open = self._ask(
                    lambda: self._connect(seconds), seconds + _MARGIN, late=lambda opened: opened.close()
                )
            return self._open

    def _connect(self, seconds: float) -> '_Connection':
        mine = self._identity
        rados = self._rados.Rados(
            name=mine.entity,
            clustername=mine.cluster,
            conffile=str(mine.conf_path),
            conf={**QUIET, 'client_mount_timeout': str(max(1, int(seconds)))},
        )
        try:
            rados.connect()
        except BaseException:
            rados.shutdown()
            raise
        return _Connection(rados)

    def _ask(
        self, work: Callable[[], Any], seconds: float, *, late: Callable[[Any], None] | None = None
    ) -> Any:
        """Do the work within the seconds.

        :raises Away: there was no answer. :raises Refused: the library says no.
        """
        try:
            return call(work, seconds, late=late)
        except (Hangs, self._rados.TimedOut) as hangs:
            raise Away(f'The Ceph cluster does not answer: {hangs}') from hangs
        except (self._rados.Error, self._cephfs.Error, OSError) as bad:
            raise Refused('connect', abs(getattr(bad, 'errno', None) or 0), str(bad)) from bad


class _Connection:
    """A connection that is closed when its last call has returned."""

    def __init__(self, rados: Any):
        self.rados = rados
        self._client: Any = None
        self._mounted: Any = None
        self._lock = threading.Lock()
        self._client_lock = threading.Lock()
        self._users = 1  # the owner is one, until it closes

    def client(self, cephfs: ModuleType) -> Any:
        """Return the file system client that reaches metadata servers. It mounts nothing."""
        with self._client_lock:
            if self._client is None:
                client = cephfs.LibCephFS(rados_inst=self.rados)
                client.init()
                self._client = client
            return self._client

    def mounted(self, cephfs: ModuleType, filesystem: str) -> Any:
        """Return a mount of the file system in this process."""
        with self._client_lock:
            if self._mounted is None:
                mount = cephfs.LibCephFS(rados_inst=self.rados)
                mount.mount(filesystem_name=filesystem.encode())
                self._mounted = mount
            return self._mounted

    def use(self, send: Callable[['_Connection'], Any]) -> Any:
        with self._lock:
            if self._users == 0:
                raise OSError('the connection was just closed')
            self._users += 1
        try:
            return send(self)
        finally:
            self.close()

    def close(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
        for one in (self._mounted, self._client, self.rados):
            if one is not None:
                with contextlib.suppress(Exception):
                    one.shutdown()


def _text(raw: Any) -> str:
    return raw.decode(errors='replace') if isinstance(raw, bytes) else str(raw or '')
