# SPDX-License-Identifier: Apache-2.0
"""The mounts of a starting NFS server: a small library (early_mounts.c) makes those of many exports at once.

NFS-Ganesha mounts one export after the other, and mostly waits for the cluster. What the library cannot mount ahead is mounted
by NFS-Ganesha itself.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from manila_lite.drivers.file_servers import compiled
from manila_lite.drivers.file_servers.ganesha_exports import write_privately
from manila_lite.host.commands import CommandFailed

_SOURCE = Path(__file__).with_suffix('.c')
_OPTIONS = ('-Wl,--no-as-needed', '-Wl,--allow-shlib-undefined')


class EarlyMounts:
    """The library of one NFS server, whose folder is ``home``. It takes the place of the plug-in ``behind``, if that is
    installed.
    """

    def __init__(self, home: Path, behind: Path | None):
        self._behind = behind
        self._list = home / 'mounts.list'
        version = compiled.version(_SOURCE, *_OPTIONS, str(behind))
        #: Where NFS-Ganesha looks for its plug-ins.
        self.folder = home / f'early-{version}'
        self.env = {'MANILA_LITE_EXPORTS': str(self._list)}

    def install(self, lines: Iterable[Sequence[str]]) -> None:
        """Put the library in place for a starting server, with the list of its exports: see the source for its words.

        :raises CommandFailed: it cannot be compiled.
        """
        if self._behind is None:
            raise CommandFailed(
                "NFS-Ganesha's part for CephFS is not installed: apt-get install nfs-ganesha-ceph"
            )
        compiled.install(self.folder / self._behind.name, _SOURCE, *_OPTIONS, str(self._behind))
        write_privately(self._list, ''.join('\t'.join(line) + '\n' for line in lines))
