# SPDX-License-Identifier: Apache-2.0
"""The static files of the console, read once into memory: a path that is not in the table does not exist."""

import dataclasses
import gzip
import hashlib
from pathlib import Path

ROOT = Path(__file__).parent / 'static'
#: The page itself.
INDEX = 'index.html'
#: Media types by suffix. A file with another suffix is not served.
MEDIA = {
    '.html': 'text/html',
    '.js': 'text/javascript',
    '.css': 'text/css',
    '.svg': 'image/svg+xml',
    '.txt': 'text/plain',
}


@dataclasses.dataclass(frozen=True)
class File:
    """One file: its data, packed with gzip, its media type, and a tag that changes with the data."""

    packed: bytes
    size: int
    media: str
    tag: str


def load(root: Path = ROOT) -> dict[str, File]:
    """Return the files by path below the root, with slashes."""
    return {
        path.relative_to(root).as_posix(): _read(path)
        for path in sorted(root.rglob('*'))
        if path.suffix in MEDIA and path.is_file()
    }


def _read(path: Path) -> File:
    data = path.read_bytes()
    return File(
        gzip.compress(data, mtime=0), len(data), MEDIA[path.suffix], hashlib.sha256(data).hexdigest()[:32]
    )
