# SPDX-License-Identifier: Apache-2.0
"""The rule of files for a process of root: it uses nothing that another user could have put in place, or could replace.

So each file and directory on the way, and each link, belongs to root, and no other user can write to it. Directories in
which nobody may replace the files of others, like /tmp, may be on the way. The rule is for root alone: a process of another
user can lose no more than what that user has.
"""

import contextlib
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from manila_lite import errors
from manila_lite.host import mounts

_ROOT = 0
#: Bits with which others may write. The group root is no other.
_GROUP, _OTHERS = stat.S_IWGRP, stat.S_IWOTH
#: What a message ends with.
_WAY = '("Directories of root" in doc/source/admin/upgrade.rst)'
#: As the kernel follows at most.
_MOST_LINKS = 40


def applies() -> bool:
    """Say whether this process is root's."""
    return os.geteuid() == _ROOT


def check(path: Path, option: str) -> None:
    """Check a file or directory, all directories above it, and links on the way. What is missing, root will make.

    :raises errors.BadConfig: this process is root's, and another user could replace it.
    """
    if applies() and (flaw := find_flaw(path)):
        raise errors.BadConfig(f'{option}: {flaw}')


def check_tree(folder: Path, option: str) -> None:
    """Check everything in a directory, but what is mounted below it.

    :raises errors.BadConfig: this process is root's, and something there belongs to another user.
    """
    if not applies():
        return
    check(folder, option)
    for path in _tree(folder, frozenset(one.target for one in mounts.mounted())):
        with contextlib.suppress(FileNotFoundError):  # daemons work there
            if (owner := os.lstat(path).st_uid) != _ROOT:
                raise errors.BadConfig(f'{option}: {_belongs(path, owner)}')


def find_flaw(path: Path) -> str:
    """Return why root may not use the file or directory, or ''."""
    try:
        steps = list(_steps(path.absolute()))
    except OSError as bad:
        return f'{path}: {bad.strerror}'
    for step, about in steps:
        if about.st_uid != _ROOT:
            return _belongs(step, about.st_uid)
        if _is_open(about, last=step == steps[-1][0]):
            return (
                f'{step} belongs to root, but has mode {stat.S_IMODE(about.st_mode):04o}, and root uses nothing that '
                f'another user can change: remove that right with chmod, after a look at what is there {_WAY}'
            )
    return ''


def _belongs(path: Path, owner: int) -> str:
    return (
        f'{path} belongs to {_name(owner)}, and root uses nothing that another user can change: give it to root with '
        f'chown, after a look at what is there {_WAY}'
    )


def _name(owner: int) -> str:
    try:
        return f'the user {pwd.getpwuid(owner).pw_name}'
    except KeyError:
        return f'the user {owner}'


def _is_open(about: os.stat_result, *, last: bool) -> bool:
    """Say whether others can change a file of root, or put something into a directory of root."""
    mode = about.st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return False  # the mode of a link means nothing, and nothing is read from devices that others may write to
    others = mode & _OTHERS or (mode & _GROUP and about.st_gid != _ROOT)
    return bool(others) and (last or not mode & stat.S_ISVTX)


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the root directory, and what the kernel meets on its way to a path, with the targets of links."""
    now, left, links = Path('/'), [*reversed(path.parts[1:])], 0
    yield now, os.lstat(now)
    while left:
        word = left.pop()
        if word == '..':
            now = now.parent
            continue
        step = now / word
        try:
            about = os.lstat(step)
        except (FileNotFoundError, NotADirectoryError):
            return
        yield step, about
        if not stat.S_ISLNK(about.st_mode):
            now = step
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(0, 'has too many links')
        target = Path(os.readlink(step))
        if target.is_absolute():
            now = Path('/')
        left += reversed([word for word in target.parts if word != '/'])


def _tree(folder: Path, mounted: frozenset[str]) -> Iterator[Path]:
    for name, folders, files in os.walk(os.path.realpath(folder)):
        folders[:] = [one for one in folders if f'{name}/{one}' not in mounted]
        yield from (Path(name, one) for one in (*folders, *files))
