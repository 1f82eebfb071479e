# SPDX-License-Identifier: Apache-2.0
"""The table of mounts that NFS-Ganesha reads for each export: a small library (mount_table.c) shortens it to that export.

Without it, a start with a thousand exports takes six seconds of a processor, and each further export takes longer than the
one before.
"""

from pathlib import Path

from manila_lite.drivers.file_servers import compiled

_SOURCE = Path(__file__).with_suffix('.c')


def prepare() -> None:
    """See ``compiled.prepare``."""
    compiled.prepare(_SOURCE)


class MountTable:
    """The library of one NFS server, whose folder is ``home``. A server that runs without it serves all the same."""

    def __init__(self, home: Path):
        self.library = home / f'mount-table-{compiled.version(_SOURCE)}' / 'table.so'

    def install(self) -> None:
        """Put the library in place for a starting server.

        :raises CommandFailed: it cannot be compiled.
        """
        compiled.install(self.library, _SOURCE)
