# SPDX-License-Identifier: Apache-2.0
"""Local file systems below NFS-Ganesha, with the guard of file handles."""

from collections.abc import Mapping
from pathlib import Path

from manila_lite.drivers.file_servers.ganesha_fsal import Fsal
from manila_lite.drivers.linux.protocols.handle_guard import HandleGuard


class Vfs(Fsal):
    """The mounted shares of one NFS server, whose folder is ``state``."""

    UNSAFE = ('NFS-Ganesha does not use its guard of file handles (handle_guard.c), so nothing is exported. '
              'Is its version another than that of Debian 12?')

    def __init__(self, state: Path):
        self._guard = HandleGuard(state)

    @property
    def plugins(self) -> Path:
        """Return the folder of the guard, which has the name of the plug-in."""
        return self._guard.folder

    @property
    def env(self) -> Mapping[str, str]:
        """Return the environment variables that the guard reads."""
        return self._guard.env

    def recovery(self, state: Path) -> str:
        """Return the settings for records in the server's own folder."""
        return f'RecoveryBackend = fs; RecoveryRoot = "{state}/recov";'

    def place(self) -> None:
        """Put the guard in place."""
        self._guard.place()

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
