# SPDX-License-Identifier: Apache-2.0
"""Files with secrets beside a mount point, which only root can read, and which exist only until the mount is made."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written(path: Path, **texts: str) -> Iterator[Path]:
    """Keep a file of each name, with its text, inside the block. Return the path of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        for name, text in texts.items():
            file = beside(path, name)
            file.unlink(missing_ok=True)
            file.touch(0o600)
            file.write_text(text)
        yield beside(path, next(iter(texts)))
    finally:
        forget(path)


def beside(path: Path, name: str) -> Path:
    return path.with_name(f'{path.name}.{name}')


def forget(path: Path) -> None:
    """Delete the files; a process that was killed may have left them."""
    for file in path.parent.glob(f'{path.name}.*'):
        file.unlink(missing_ok=True)
