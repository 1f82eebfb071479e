# SPDX-License-Identifier: Apache-2.0
"""Log files, opened through no link: a link in the directory would have the process write to, and narrow, another file."""

import errno
import logging
import os
from typing import IO, Any

#: Links of the system itself: /dev/stderr.
_DEVICES = '/dev/'


def install() -> None:
    """Open the file of each handler in this way, also of handlers that libraries make, and after a rotation."""
    logging.FileHandler._open = _open  # type: ignore[method-assign,assignment] # noqa: SLF001 - no handler has a call for it


def _open(handler: logging.FileHandler) -> IO[Any]:
    return open(
        handler.baseFilename, handler.mode, encoding=handler.encoding, errors=handler.errors, opener=_no_link
    )


def _no_link(path: str, flags: int) -> int:
    try:
        return os.open(path, flags if path.startswith(_DEVICES) else flags | os.O_NOFOLLOW, 0o666)
    except OSError as bad:
        if bad.errno == errno.ELOOP:
            raise OSError(bad.errno, 'it is a symbolic link; name the file itself', path) from None
        raise
