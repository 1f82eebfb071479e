# SPDX-License-Identifier: Apache-2.0
"""Files with secrets beside a mount point, which only root can read, and which exist only until the mount is made."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written(place: Path, **texts: str) -> Iterator[Path]:
    """Keep a file of each name, with its text, inside the block. Return the path of the first."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        for name, text in texts.items():
            file = beside(place, name)
            file.unlink(missing_ok=True)
            file.touch(0o600)
            file.write_text(text)
        yield beside(place, next(iter(texts)))
    finally:
        forget(place)


def beside(place: Path, name: str) -> Path:
    return place.with_name(f'{place.name}.{name}')


def forget(place: Path) -> None:
    """Delete the files; a process that was killed may have left them."""
    for file in place.parent.glob(f'{place.name}.*'):
        file.unlink(missing_ok=True)
