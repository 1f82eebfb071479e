# SPDX-License-Identifier: Apache-2.0
"""The guard of file handles: a small library (handle_guard.c) between the kernel and NFS-Ganesha's plug-in for local file
systems.

Without it, a client that may mount one share can reach any file of the same file system, by made-up handles. The guard
is compiled here, for the machine that it runs on. An NFS server that does not use it is stopped.
"""

import functools
from pathlib import Path

from manila_lite.drivers.file_servers import compiled
from manila_lite.drivers.linux.protocols import preloaded
from manila_lite.host.commands import CommandFailed

#: File name of NFS-Ganesha's plug-in for local file systems, and therefore of the guard.
LIBRARY = 'libfsalvfs.so'

_SOURCE = Path(__file__).with_suffix('.c')
#: Calls of a plug-in do not come by a preloaded library, so the guard has its own share_size.c.
_MORE = (preloaded.SHARE_SIZE, '-Wl,--no-as-needed', '-Wl,--allow-shlib-undefined')


def plugin() -> Path | None:
    """Return NFS-Ganesha's plug-in for local file systems, or None if it is not installed."""
    return next(iter(sorted(Path('/usr/lib').glob(f'*/ganesha/{LIBRARY}'))), None)


@functools.cache
def version() -> str:
    """Return a hash that changes with the guard."""
    return compiled.version(_SOURCE, *_MORE, str(plugin()))


def prepare() -> None:
    """See ``compiled.prepare``."""
    if behind := plugin():
        compiled.prepare(_SOURCE, *_MORE, str(behind))


class HandleGuard:
    """The guard of one NFS server, whose folder is ``home``."""

    def __init__(self, home: Path):
        self._home = home
        #: Where NFS-Ganesha looks for its plug-ins.
        self.folder = home / f'guard-{version()}'
        self.env = {'MANILA_LITE_GUARDED': str(home)}

    @property
    def _shown(self) -> Path:
        return self._home / 'guarded'

    def install(self) -> None:
        """Make the library anew for a starting server, and delete the mark of an earlier server's guard.

        What was there before counts for nothing: NFS-Ganesha runs it as root.

        :raises CommandFailed: the guard cannot be compiled.
        """
        self._shown.unlink(missing_ok=True)
        if (behind := plugin()) is None:
            raise CommandFailed(f'{LIBRARY} of NFS-Ganesha is not installed: apt-get install nfs-ganesha-vfs')
        compiled.install(self.folder / LIBRARY, _SOURCE, *_MORE, str(behind))

    @property
    def works(self) -> bool:
        """Say whether the server, which exports something, uses the guard."""
        return self._shown.exists()
