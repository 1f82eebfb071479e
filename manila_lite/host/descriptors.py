# SPDX-License-Identifier: Apache-2.0
"""Descriptors of files and directories, for calls that take one."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """Have the place open inside the block. A new file can be read by its owner alone."""
    fd = os.open(path, flags, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
