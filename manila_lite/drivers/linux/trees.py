# SPDX-License-Identifier: Apache-2.0
"""Trees that tenants made are changed as a whole: however deep they are, and whoever changes them meanwhile.

Nothing here calls itself for a directory in a directory, nor keeps one open for each.
"""

from pathlib import Path

from manila_lite.drivers.linux import cage
from manila_lite.drivers.linux.run import CommandFailed, run

#: Seconds that the files of a large share may take.
_PATIENCE = 86400.0
_TRIES = 5
#: Longer paths than this are too long, or too deep, for rsync to delete.
_LONG = 1800
_ALL = (cage.TARGET, '-xdev', '-mindepth', '1')


def remove(place: Path) -> None:
    """The directory is gone, with all that is in it. What is mounted in it is not touched.

    :raises CommandFailed: somebody still puts files into it, or the file system refuses.
    """
    if place.is_symlink() or not place.exists():
        place.unlink(missing_ok=True)
        return
    for left in reversed(range(_TRIES)):
        try:
            run(*cage.words(place, 'find', *_ALL, '-delete'), seconds=_PATIENCE)
            place.rmdir()
        except FileNotFoundError:
            return
        except (CommandFailed, OSError) as bad:
            # A directory that was moved away while it was read is found when it is looked for again.
            if not left:
                raise CommandFailed(f'{place} cannot be deleted: {str(bad).rpartition("-delete: ")[2]}') from bad
        else:
            return


def untangled(place: Path) -> tuple[str, ...]:
    """Return the command that removes from the directory what a copy that writes into it would stumble over.

    Of a file with several names one name stays: a copy that goes to both would write to the same file twice. What is too deep
    for rsync goes.
    """
    deep = '?' * _LONG + '*'
    return cage.words(place, 'find', *_ALL, '(', '-type', 'f', '-links', '+1', '-o', '-path', deep, ')', '-delete')
