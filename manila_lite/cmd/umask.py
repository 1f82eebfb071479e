# SPDX-License-Identifier: Apache-2.0
"""Privacy of a process's files, sockets and folders: other users of the machine can open none of them."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg
from oslo_log import log

from manila_lite import errors
from manila_lite.host import configured_files

LOG = log.getLogger(__name__)

_UMASK = 0o077
#: Mode bits that others must not have: on folders and files, and on logs, which their group may read.
_OTHERS, _OTHERS_OF_LOGS = 0o077, 0o027
#: Folders of the whole machine, which mode 0700 would make unusable.
_OF_ALL = frozenset(
    map(
        Path,
        (
            '/',
            '/boot',
            '/dev',
            '/etc',
            '/home',
            '/mnt',
            '/opt',
            '/run',
            '/srv',
            '/usr',
            '/var',
            '/var/lib',
            '/var/log',
            '/var/run',
        ),
    )
)


def set_umask() -> None:
    """Set the umask, so that files of this process and its children are private to their user.

    Programs that make files for clients (NFS-Ganesha, smbd, virtiofsd) set an umask of their own: there the client chooses.
    """
    os.umask(_UMASK)


def restrict_modes(conf: cfg.ConfigOpts) -> None:
    """Restrict the state folder, the database's files and the open logs to their owner, in case they have wider modes.
    Logs stay readable by their group.

    :raises errors.BadConfig: the state folder is one that the whole machine needs.
    """
    state_dir = Path(conf.state_path)
    if os.path.isdir(
        state_dir
    ):  # False below a directory of another user, as for an API beside root's services
        if _is_of_all(state_dir.resolve()):
            raise errors.BadConfig(
                f'state_path: {state_dir} is a directory of the whole machine; use a directory below it for '
                'this service alone'
            )
        _narrow(state_dir, _OTHERS)
    for file in configured_files.databases(conf.database.connection or ''):
        _narrow(file, _OTHERS)
    for file, opened in _logs():
        _narrow(file, _OTHERS_OF_LOGS, opened)


def list_open_paths(conf: cfg.ConfigOpts) -> list[str]:
    """Return messages about the places of ``restrict_modes``, without logs, that other users of the machine can open."""
    paths = (Path(conf.state_path), *configured_files.databases(conf.database.connection or ''))
    return [
        f'{path} has mode {mode:04o}'
        for path in paths
        if (mode := _mode(path)) is not None and mode & _OTHERS
    ]


def _is_of_all(folder: Path) -> bool:
    return folder in _OF_ALL or bool(folder.stat().st_mode & stat.S_ISVTX)


def _logs() -> Iterator[tuple[Path, int]]:
    """Yield the log files with their descriptors: at the path there may be another file meanwhile."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler) and handler.stream is not None:
            yield Path(handler.baseFilename), handler.stream.fileno()


def _mode(path: Path | int) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None


def _narrow(path: Path, too_much: int, opened: int | None = None) -> None:
    """Remove rights from a file or folder, if it exists. Another user's file is not changed, and the log has a warning.

    ``opened``: a descriptor of the file.
    """
    target = path if opened is None else opened
    mode = _mode(target)
    if (
        mode is None
        or not mode & too_much
        or stat.S_IFMT(os.stat(target).st_mode) not in (stat.S_IFREG, stat.S_IFDIR)
    ):
        return
    try:
        os.chmod(target, mode & ~too_much)
    except OSError as bad:
        LOG.warning(
            '%s can be opened by other users of this machine (mode %04o), and that cannot be changed: %s',
            path,
            mode,
            bad.strerror,
        )
    else:
        LOG.warning(
            '%s could be opened by other users of this machine (mode %04o); it has mode %04o now',
            path,
            mode,
            mode & ~too_much,
        )
