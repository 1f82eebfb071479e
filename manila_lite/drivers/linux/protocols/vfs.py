# SPDX-License-Identifier: Apache-2.0
"""Local file systems below NFS-Ganesha, with the guards of file handles and of connections."""

from pathlib import Path

from manila_lite.drivers.file_servers.connection_guard import ConnectionGuard
from manila_lite.drivers.file_servers.ganesha_fsal import Fsal
from manila_lite.drivers.linux.protocols.handle_guard import HandleGuard
from manila_lite.drivers.linux.protocols.preloaded import MOUNT_TABLE, Preloaded


class Vfs(Fsal):
    """The mounted shares of one NFS server, whose folder is ``state``. ``per_address``: most connections of an address."""

    UNSAFE = (
        'NFS-Ganesha does not use its guard of file handles (handle_guard.c), so nothing is exported. '
        'Is its version another than that of Debian 12?'
    )

    def __init__(self, state_dir: Path, per_address: int):
        self._guard = HandleGuard(state_dir)
        self._connections = ConnectionGuard(state_dir, per_address)
        #: The folder of the guard, which has the name of the plug-in.
        self.plugins = self._guard.folder
        self._table = Preloaded(state_dir, MOUNT_TABLE)
        preloaded = f'{self._connections.env["LD_PRELOAD"]}:{self._table.library}'
        self.env = {**self._guard.env, **self._connections.env, 'LD_PRELOAD': preloaded}
        # A comment, so that a server with another limit is another server.
        self.conf = f'# connections: {self._connections.start_key}\n'

    def recovery(self, state_dir: Path) -> str:
        """Return the settings for records in the server's own folder."""
        return f'RecoveryBackend = fs; RecoveryRoot = "{state_dir}/recov";'

    def install(self) -> None:
        """Put the guards and the short table of mounts in place."""
        for library in (self._guard, self._connections, self._table):
            library.install()

    @property
    def safe(self) -> bool:
        """Say whether the server uses the guard: without it, clients could make up handles of other files."""
        return self._guard.works

    def block(self, name: str) -> str:
        """Return the FSAL block, the same for every export."""
        return 'FSAL { Name = VFS; }'

    def name_of(self, path: str) -> str:
        """Return the name of the export: the last part of its mount point."""
        return Path(path).name
