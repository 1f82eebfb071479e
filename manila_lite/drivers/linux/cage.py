# SPDX-License-Identifier: Apache-2.0
"""Programs that work in a tenant's tree: they see that tree, perhaps one to copy from, and nothing else of this machine.

A client may put a symbolic link where a directory was, between two system calls of such a program. Here it leads nowhere: the
program has a mount namespace of its own, in which the tree is, and besides only the program with its libraries. It has no
network, and of root's powers only those over owners and modes; device nodes in the trees cannot be opened.
"""

import shutil
from pathlib import Path

from manila_lite.drivers.linux.run import ENV, CommandFailed

#: Where the trees are, inside.
SOURCE, TARGET = '/source', '/target'
#: What it takes to read and to make files of every owner and kind.
_POWERS = ('CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'MKNOD', 'SETFCAP')
_LIBRARIES = ('/usr/lib', '/usr/lib64', '/lib', '/lib64')
_CAGE = ('bwrap', '--unshare-net', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--die-with-parent', '--clearenv',
         '--setenv', 'LC_ALL', 'C', '--cap-drop', 'ALL', *(word for power in _POWERS for word in ('--cap-add', f'CAP_{power}')),
         *(word for place in _LIBRARIES for word in ('--ro-bind-try', place, place)))


def words(target: Path, program: str, *arguments: str, source: Path | None = None) -> tuple[str, ...]:
    """Return the command that runs the program where it can write to ``target``, and read ``source``. It ends with the thread
    that begins it.

    :raises CommandFailed: there is no such program.
    """
    place = shutil.which(program, path=ENV['PATH'])
    if place is None:
        raise CommandFailed(f'{program} is not installed')
    reads = ('--ro-bind', str(source), SOURCE) if source else ()
    return (*_CAGE, '--ro-bind', place, place, *reads, '--bind', str(target), TARGET, '--remount-ro', '/', '--chdir', '/', '--',
            place, *arguments)
