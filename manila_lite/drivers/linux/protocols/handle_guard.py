# SPDX-License-Identifier: Apache-2.0
"""The guard of file handles: a small library (handle_guard.c) between the kernel and NFS-Ganesha's plug-in for local file
systems.

Without it, a client that may mount one share can reach any file of the same file system, by made-up handles. The guard
is compiled here, for the machine that it runs on. An NFS server that does not use it is stopped.
"""

import contextlib
import functools
import hashlib
import shutil
import tempfile
from pathlib import Path

from manila_lite.host.commands import ENV, CommandFailed, run

#: File name of NFS-Ganesha's plug-in for local file systems, and therefore of the guard.
LIBRARY = 'libfsalvfs.so'
#: The compiler, and the packages that are needed to compile the guard.
COMPILER, PACKAGES = 'cc', 'gcc libc6-dev'

_SOURCE = Path(__file__).with_suffix('.c')
_OPTIONS = ('-O2', '-fPIC', '-shared', '-Wl,-z,relro,-z,now', '-Wl,--no-as-needed', '-Wl,--allow-shlib-undefined')


def plugin() -> Path | None:
    """Return NFS-Ganesha's plug-in for local file systems, or None if it is not installed."""
    return next(iter(sorted(Path('/usr/lib').glob(f'*/ganesha/{LIBRARY}'))), None)


@functools.cache
def version() -> str:
    """Return a hash that changes with the guard."""
    return hashlib.sha256(_SOURCE.read_bytes() + repr((_OPTIONS, plugin())).encode()).hexdigest()[:12]


@functools.cache
def _compiled() -> bytes:
    behind = plugin()
    if behind is None:
        raise CommandFailed(f'{LIBRARY} of NFS-Ganesha is not installed: apt-get install nfs-ganesha-vfs')
    with tempfile.TemporaryDirectory(prefix='manila_lite-guard-') as folder:
        made = Path(folder, LIBRARY)
        run(COMPILER, *_OPTIONS[:-2], str(_SOURCE), *_OPTIONS[-2:], str(behind), '-o', str(made))
        return made.read_bytes()


def can_be_made() -> bool:
    """Say whether the compiler and the headers are installed."""
    return bool(shutil.which(COMPILER, path=ENV['PATH'])) and Path('/usr/include/stdlib.h').exists()


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

    def place(self) -> None:
        """Make the library anew for a starting server, and delete the mark of an earlier server's guard.

        What was there before counts for nothing: NFS-Ganesha runs it as root.

        :raises CommandFailed: the guard cannot be compiled.
        """
        self._shown.unlink(missing_ok=True)
        made = _compiled()
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o700, parents=True)
        (self.folder / LIBRARY).write_bytes(made)

    @property
    def works(self) -> bool:
        """Say whether the server, which exports something, uses the guard."""
        return self._shown.exists()
