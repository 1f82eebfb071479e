# SPDX-License-Identifier: Apache-2.0
"""NFSv4 in user space: the C library libnfs, for a kernel without an NFS client."""

import ctypes
import errno
import os
from typing import Any

_LIBRARY = 'libnfs.so.13'
#: libnfs 4.0 loses NFSv4 writes of 4096 bytes and more.
CHUNK = 2048


class Refused(Exception):
    """The server said no; the message has its error, and ``number`` the errno."""

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.number = number


class _Entry(ctypes.Structure):
    """The head of libnfs' directory entry."""


_Entry._fields_ = [('next', ctypes.POINTER(_Entry)), ('name', ctypes.c_char_p)]


class Mount:
    """An export, mounted in user space. One in a process at a time."""

    def __init__(self, address: str, export: str):
        self._lib = ctypes.CDLL(_LIBRARY)
        self._lib.nfs_init_context.restype = ctypes.c_void_p
        self._lib.nfs_get_error.restype = ctypes.c_char_p
        self._lib.nfs_readdir.restype = ctypes.POINTER(_Entry)
        self._context = ctypes.c_void_p(self._lib.nfs_init_context())
        self.call('nfs_set_version', 4)
        self.call('nfs_mount', address.encode(), export.encode())

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function of libnfs, and return its result.

        :raises Refused: it failed.
        """
        result: int = getattr(self._lib, name)(self._context, *arguments)
        if result < 0:
            said = self._lib.nfs_get_error(self._context)
            text = said.decode(errors='replace') if said else name
            # libnfs has another number for this error.
            number = errno.EDQUOT if 'DQUOT' in text else -result
            raise Refused(f'{text} ({os.strerror(number)})', number)
        return result

    def names(self, path: str = '/') -> list[str]:
        """Return the names in a directory."""
        directory = ctypes.c_void_p()
        self.call('nfs_opendir', path.encode(), ctypes.byref(directory))
        names: list[str] = []
        while entry := self._lib.nfs_readdir(self._context, directory):
            names.append(entry.contents.name.decode())
        self._lib.nfs_closedir(self._context, directory)
        return sorted(name for name in names if name not in ('.', '..'))
