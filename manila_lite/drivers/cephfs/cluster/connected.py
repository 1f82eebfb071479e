# SPDX-License-Identifier: Apache-2.0
"""The start and the connection of the programs that look into a file system of a Ceph cluster.

``connected.py PROGRAM`` runs with the Python of the system, which has Ceph's bindings; so it can be killed if a call of them
hangs. PROGRAM is a file of this folder with ``VERBS``. Standard input is a JSON object: what to connect with, the file system,
the ``patience`` in seconds for one answer, and the ``verb``. The function of the verb is called with the connection and the
object, and its result is written, as JSON.
"""

import importlib
import json
import runpy
import signal
import sys
from typing import Any

#: No files and no output of the library. And directories are moved although there are limits of size on the way.
_CONF = {
    'log_file': '',
    'log_to_stderr': 'false',
    'err_to_stderr': 'false',
    'admin_socket': '',
    'client_quota': 'false',
}


class Connection:
    """A connection to the cluster, and a mount of the file system. ``cephfs`` and ``rados`` are Ceph's modules."""

    def __init__(self, asked: dict[str, Any]):
        self._patience = asked['patience']
        self.wait()
        self.cephfs, self.rados = importlib.import_module('cephfs'), importlib.import_module('rados')
        self.cluster = self.rados.Rados(
            name=asked['entity'], clustername=asked['cluster'], conffile=asked['conf'], conf=_CONF
        )
        self.cluster.connect()
        self.mount = self.cephfs.LibCephFS(rados_inst=self.cluster)
        self.mount.mount(filesystem_name=asked['filesystem'].encode())

    def wait(self) -> None:
        """Give the next call its time. The process is killed if it takes longer."""
        signal.alarm(self._patience)

    def xattr(self, path: bytes, name: str) -> str:
        """Return an extended attribute of a file; '' if there is none, or the file has gone."""
        self.wait()
        try:
            return str(self.mount.getxattr(path, name).decode())
        except (self.cephfs.NoData, self.cephfs.ObjectNotFound):
            return ''

    def names(self, path: bytes, kind: int) -> list[bytes]:
        """Return the names in the directory of this kind of file, as in ``stat``; none if the directory has gone."""
        self.wait()
        try:
            folder = self.mount.opendir(path)
        except self.cephfs.ObjectNotFound:
            return []
        names: list[bytes] = []
        try:
            while True:
                self.wait()
                entry = self.mount.readdir(folder)
                if not entry:
                    return names
                if entry.d_type << 12 == kind and entry.d_name not in (b'.', b'..'):
                    names.append(entry.d_name)
        finally:
            self.mount.closedir(folder)

    def close(self) -> None:
        self.wait()
        self.mount.shutdown()
        self.cluster.shutdown()


def main() -> None:
    """Run the verb that standard input names, and write its result."""
    asked = json.load(sys.stdin)
    connection = Connection(asked)
    try:
        json.dump(runpy.run_path(sys.argv[1])['VERBS'][asked['verb']](connection, asked), sys.stdout)
    finally:
        connection.close()


if __name__ == '__main__':
    main()
