# SPDX-License-Identifier: Apache-2.0
"""Files that a loss of power leaves whole, and as they were written last."""

import os
from pathlib import Path

from manila_lite.host.commands import run
from manila_lite.host.descriptors import opened

#: Seconds that it may take to write a file system to disk.
WRITE_SECONDS = 600.0


def replace(file: Path, content: str) -> None:
    """Replace the file's content atomically; it is on the disk at the end."""
    draft = file.with_name(f'{file.name}.new')
    draft.write_text(content)
    sync(draft)
    os.replace(draft, file)
    sync(file.parent)


def text(file: Path) -> str:
    """Return the file's text, '' without the file."""
    try:
        return file.read_text()
    except FileNotFoundError:
        return ''


def remove(file: Path) -> None:
    """Delete the file for good. A missing one counts as success."""
    if file.exists():
        file.unlink()
        sync(file.parent)


def sync(path: Path) -> None:
    """Write the content of a file, or the names in a directory, to the disk."""
    with opened(path) as fd:
        os.fsync(fd)


def write_out(path: Path) -> None:
    """Have all of the file system at this path on disk, or at its server, before anything relies on a copy there: of a file
    that a host lost in a crash, the size may be right.

    :raises CommandFailed: it cannot be written.
    """
    run('sync', '--file-system', str(path), seconds=WRITE_SECONDS)
