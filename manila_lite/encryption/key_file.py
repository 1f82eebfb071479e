# SPDX-License-Identifier: Apache-2.0
"""The file with the keys of secrets: one on a line, for root and the service alone."""

import contextlib
import os
import stat
from pathlib import Path

from cryptography.fernet import Fernet

from manila_lite import errors

_HEAD = ('# Keys of the secrets in the database of manila_lite: the first encrypts, all decrypt.\n'
         '# Keep a copy elsewhere, and the same file on every host: doc/source/admin/secrets.rst\n')
#: Others than the owner and his group have nothing to do with it, and nobody but the owner changes it.
_TOO_MUCH = 0o037


def stamp(path: Path) -> tuple[int, ...]:
    """Return what changes with the file; the same if there is none."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
    return ()


def read(path: Path) -> list[bytes]:
    """Return the keys, none if there is no file.

    :raises errors.BadConfig: it cannot be read, has none, or others can read it. Nothing of it is said.
    """
    try:
        with path.open(encoding='ascii') as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            lines = [line.strip() for line in file]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeError) as bad:
        raise errors.BadConfig(f'[secrets] key_file: {path} cannot be read: {getattr(bad, "strerror", None) or "it is no text"}'
                               ) from None
    if mode & _TOO_MUCH:
        raise errors.BadConfig(f'[secrets] key_file: {path} has mode {mode:04o}, so others can read or change it; chmod 0600, '
                               'and think about new keys')
    keys = [(number, line.encode()) for number, line in enumerate(lines, 1) if line and not line.startswith('#')]
    for number, key in keys:
        try:
            Fernet(key)
        except ValueError:
            raise errors.BadConfig(f'[secrets] key_file: line {number} of {path} is no key; "manila-manage secret new_key" '
                                   'prints one') from None
    if not keys:
        raise errors.BadConfig(f'[secrets] key_file: {path} has no key')
    return [key for _, key in keys]


def new() -> str:
    """Return a new key, as it stands on a line."""
    return Fernet.generate_key().decode()


def make(path: Path) -> bool:
    """There is a file with a new key. It is whole when it is there, and belongs to whom its folder belongs to. Says whether it
    was made now.

    :raises errors.BadConfig: it cannot be made.
    """
    draft = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), 'w', encoding='ascii') as file:
            file.write(f'{_HEAD}{new()}\n')
            folder = path.parent.stat()
            if os.geteuid() == 0:
                os.fchown(file.fileno(), folder.st_uid, folder.st_gid)
            file.flush()
            os.fsync(file.fileno())
        return _put(draft, path)
    except OSError as bad:
        raise errors.BadConfig(f'[secrets] key_file: {path} cannot be made: {bad.strerror}') from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _put(draft: Path, path: Path) -> bool:
    """The draft is at its place, unless somebody else has just put one there."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    return True
