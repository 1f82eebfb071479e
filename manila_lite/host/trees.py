# SPDX-License-Identifier: Apache-2.0
"""Changes of whole directory trees that tenants made: they may be of any depth, and may change meanwhile.

No function here recurses into directories, or keeps one open for each level.
"""

from pathlib import Path

from manila_lite.host import sandbox
from manila_lite.host.commands import CommandFailed, run

#: Seconds that the deletion of a large share's files may take.
_PATIENCE = 86400.0
_TRIES = 5
#: Longer paths are too long, or too deep, for rsync to delete.
_LONG = 1800
_ALL = (sandbox.TARGET, '-xdev', '-mindepth', '1')


def remove(path: Path) -> None:
    """Delete the directory with everything in it, except for mounts.

    :raises CommandFailed: a client still creates files in it, or the file system refuses.
    """
    if path.is_symlink() or not path.exists():
        path.unlink(missing_ok=True)
        return
    for left in reversed(range(_TRIES)):
        try:
            run(*sandbox.words(path, 'find', *_ALL, '-delete'), seconds=_PATIENCE)
            path.rmdir()
        except FileNotFoundError:
            return
        except (CommandFailed, OSError) as bad:
            # A directory that was moved during the search is found by the next one.
            if not left:
                raise CommandFailed(
                    f'{path} cannot be deleted: {str(bad).rpartition("-delete: ")[2]}'
                ) from bad
        else:
            return


def untangled(path: Path) -> tuple[str, ...]:
    """Return the command that removes files from the directory that would break a copy into it.

    It leaves one name of a file with several: a copy to two of them would write to the same file twice. It removes
    paths that are too deep for rsync.
    """
    deep = '?' * _LONG + '*'
    return sandbox.words(
        path, 'find', *_ALL, '(', '-type', 'f', '-links', '+1', '-o', '-path', deep, ')', '-delete'
    )
