# SPDX-License-Identifier: Apache-2.0
"""Log files, opened through no link: a link in the directory would have the process write to, and narrow, another file.

oslo.log looks before each line whether its file has another one's name now, which logrotate has made. So nobody has to
tell a process that its log was rotated, and no line is lost.
"""

import contextlib
import errno
import logging
import os
import time
from logging.handlers import WatchedFileHandler
from typing import IO, Any

#: Links of the system itself: /dev/stderr.
_DEVICES = '/dev/'
#: Seconds after which a process makes a file that is gone. logrotate makes it at once, with the owner that it had.
_PATIENCE = 5.0


def install() -> None:
    """Open the file of each handler in this way, also of handlers that libraries make, and after a rotation."""
    logging.FileHandler._open = _open  # type: ignore[method-assign,assignment] # noqa: SLF001 - no handler has a call for it
    WatchedFileHandler.reopenIfNeeded = _follow  # type: ignore[method-assign,assignment]


def _follow(handler: WatchedFileHandler) -> None:
    """Go on in the file that has the name now. If there is none, or it cannot be opened, go on in the old one.

    The library closes the old file first. A service that may make no file in the directory would have none then, for the
    moment until logrotate makes it, and the code that logs would get the error.
    """
    if _has_name(handler):
        return
    try:
        opened = handler._open()  # noqa: SLF001 - as above
    except OSError:
        return
    old, handler.stream = handler.stream, opened
    handler._statstream()  # noqa: SLF001 - as above
    if old is not None:
        with contextlib.suppress(OSError):
            old.close()


def _has_name(handler: WatchedFileHandler) -> bool:
    """Say whether the open file still has its name, or has lost it a moment ago."""
    try:
        found = os.stat(handler.baseFilename)
    except OSError:
        since: float = vars(handler).setdefault('nameless_since', time.monotonic())
        return time.monotonic() - since < _PATIENCE
    vars(handler).pop('nameless_since', None)
    return (found.st_dev, found.st_ino) == (handler.dev, handler.ino)


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
