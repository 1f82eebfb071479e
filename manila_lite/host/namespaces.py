# SPDX-License-Identifier: Apache-2.0
"""Calls inside of a network namespace, which is identified by a file: what is opened there stays there."""

import concurrent.futures
import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from manila_lite.host.descriptors import opened

T = TypeVar('T')
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def of_process(pid: int) -> Path:
    """Return the file of the network namespace of a process."""
    return Path(f'/proc/{pid}/ns/net')


def inside(path: Path, do: Callable[[], T]) -> T:
    """Call a function within a namespace, in a thread that ends with the call; return the result.

    :raises OSError: the namespace cannot be entered, or the function raised it.
    """

    def call() -> T:
        with opened(path) as fd:
            if _libc.setns(fd, _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), f'{path}: {os.strerror(ctypes.get_errno())}')
        return do()

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(call).result()
