# SPDX-License-Identifier: Apache-2.0
"""Small libraries that a file server loads before the C library. A server that runs without them serves all the same.

* ``mount_table.c`` shortens the table of mounts that NFS-Ganesha reads for each export to that export. Without it, a start
  with a thousand exports takes six seconds of a processor, and each further export takes longer than the one before.
* ``share_size.c`` shows clients the size of a share. Without it, ``df`` shows that of the pool.
"""

from pathlib import Path

from manila_lite.drivers.file_servers import compiled

MOUNT_TABLE, SHARE_SIZE = (Path(__file__).with_name(name) for name in ('mount_table.c', 'share_size.c'))


def prepare() -> None:
    """See ``compiled.prepare``."""
    for source in (MOUNT_TABLE, SHARE_SIZE):
        compiled.prepare(source)


class Preloaded:
    """One of the libraries, for one file server whose folder is ``home``."""

    def __init__(self, home: Path, source: Path):
        self._source = source
        self.library = home / f'{source.stem}-{compiled.version(source)}' / 'preloaded.so'

    def install(self) -> None:
        """Put the library in place for a starting server.

        :raises CommandFailed: it cannot be compiled.
        """
        compiled.install(self.library, self._source)
