# SPDX-License-Identifier: Apache-2.0
"""The copy of all exports in the cluster, from which another host takes over the NFS server."""

import json
import threading
from pathlib import Path

from manila_lite.drivers.cephfs.cluster.objects import Objects
from manila_lite.drivers.file_servers.ganesha_exports import Mirror, write_privately
from manila_lite.host.commands import CommandFailed

_OBJECT = 'exports'


class ObjectMirror(Mirror):
    """A copy in one object, which only the host that has the lease of the backend writes. Safe for threads."""

    def __init__(self, objects: Objects):
        self._objects = objects
        self._texts: dict[str, str] | None = None
        self._lock = threading.Lock()

    def pull(self, path: Path) -> None:
        """Make the files in the folder those of the copy. If there is none yet, the files are the first."""
        with self._lock:
            known = self._read()
            if known is None:
                self._texts = {file.stem: file.read_text() for file in path.glob('*.conf')}
                self._write(self._texts)
                return
            for file in path.iterdir():
                if file.stem not in known:
                    file.unlink()
            for name, text in known.items():
                write_privately(path / f'{name}.conf', text)
            self._texts = known

    def push(self, name: str, text: str | None) -> None:
        with self._lock:
            before = self._texts if self._texts is not None else self._read() or {}
            after = {other: kept for other, kept in before.items() if other != name} | (
                {} if text is None else {name: text}
            )
            if after != before:
                self._write(after)
            self._texts = after

    def _read(self) -> dict[str, str] | None:
        content = self._objects.get(_OBJECT)
        if content is None:
            return None
        try:
            known = json.loads(content)
        except ValueError as bad:
            raise CommandFailed(
                f'the object {_OBJECT} in the namespace {self._objects.namespace} of the pool '
                f'{self._objects.pool} is damaged; delete it: exports are made again'
            ) from bad
        return {str(name): str(text) for name, text in known.items()}

    def _write(self, texts: dict[str, str]) -> None:
        self._objects.put(_OBJECT, json.dumps(texts).encode())
