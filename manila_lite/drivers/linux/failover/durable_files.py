# SPDX-License-Identifier: Apache-2.0
"""Files of exports on a shared pool: the next host starts with them, so no change may be lost with this one."""

from pathlib import Path

from manila_lite.drivers.file_servers.ganesha_exports import SERVED, Mirror
from manila_lite.host import durable


class DurableFiles(Mirror):
    """The files of exports of one server, whose folder is ``home``, synced after each change. They are the copy themselves."""

    def __init__(self, home: Path):
        self._folder = home / SERVED

    def push(self, name: str, text: str | None) -> None:
        """Write the file of the export to the disk, or its absence."""
        for path in (self._folder, *(() if text is None else (self._folder / f'{name}.conf',))):
            if path.exists():
                durable.sync(path)
