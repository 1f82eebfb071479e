# SPDX-License-Identifier: Apache-2.0
"""The file with the keys of secrets: one key a line, readable by root and the service only."""

import contextlib
import os
import stat
from pathlib import Path

from cryptography.fernet import Fernet

from manila_lite import errors

_HEAD = (
    '# Keys of the secrets in the database of manila_lite: the first encrypts, all decrypt.\n'
    '# Keep a copy elsewhere, and the same file on every host: doc/source/admin/secrets.rst\n'
)
#: Mode bits that the file must not have: all for others; write and execute for the group.
_TOO_MUCH = 0o037


def stamp(path: Path) -> tuple[int, ...]:
    """Return a value that changes when the file changes; an empty one if there is no file."""
    with contextlib.suppress(OSError):
        status = path.stat()
        return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
    return ()


def read(path: Path) -> list[bytes]:
    """Return the keys, none if there is no file.

    :raises errors.BadConfig: the file cannot be read, has no valid key, or is accessible to others. No key is in the message.
    """
    try:
        with path.open(encoding='ascii') as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            lines = [line.strip() for line in file]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeError) as bad:
        raise errors.BadConfig(
            f'[secrets] key_file: {path} cannot be read: {getattr(bad, "strerror", None) or "it is not text"}'
        ) from None
    if mode & _TOO_MUCH:
        raise errors.BadConfig(
            f'[secrets] key_file: {path} has mode {mode:04o}, so other users can read or change it; run '
            'chmod 0600, and consider new keys'
        )
    keys = [
        (number, line.encode()) for number, line in enumerate(lines, 1) if line and not line.startswith('#')
    ]
    for number, key in keys:
        try:
            Fernet(key)
        except ValueError:
            raise errors.BadConfig(
                f'[secrets] key_file: line {number} of {path} is not a key; "manila-manage secret new_key" '
                'prints one'
            ) from None
    if not keys:
        raise errors.BadConfig(f'[secrets] key_file: {path} has no key')
    return [key for _, key in keys]


def new() -> str:
    """Return a new key, in the form of a line of the key file."""
    return Fernet.generate_key().decode()


def make(path: Path) -> bool:
    """Make the file with a new key; return whether this call made it.

    The file appears with its whole content, and has the owner and the group of its folder. The group may read it if the folder
    is root's, and the group may look into that: root makes the key of services that are not root's.

    :raises errors.BadConfig: the file cannot be made.
    """
    draft = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w', encoding='ascii') as file:
            file.write(f'{_HEAD}{new()}\n')
            folder = path.parent.stat()
            if os.geteuid() == 0:
                os.fchown(file.fileno(), folder.st_uid, folder.st_gid)
                if not folder.st_uid and folder.st_gid:
                    os.fchmod(file.fileno(), 0o600 | folder.st_mode & stat.S_IRGRP)
            file.flush()
            os.fsync(file.fileno())
        return _put(draft, path)
    except OSError as bad:
        raise errors.BadConfig(f'[secrets] key_file: {path} cannot be made: {bad.strerror}') from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _put(draft: Path, path: Path) -> bool:
    """Link the draft to its final path; return False if another process has just put a file there."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    return True
