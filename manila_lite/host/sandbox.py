# SPDX-License-Identifier: Apache-2.0
"""A sandbox for programs that work in a tenant's tree: they see that tree, perhaps one to copy from, and nothing else.

A client may replace a directory by a symbolic link between two system calls of such a program. In the sandbox the link
leads nowhere: the program has its own mount namespace, which has only the trees, the program and its libraries. It has
no network, and of root's capabilities only those over owners and modes. Device nodes in the trees cannot be opened.
"""

import shutil
from pathlib import Path

from manila_lite.host.commands import ENV, CommandFailed

#: Paths of the trees inside the sandbox.
SOURCE, TARGET = '/source', '/target'
#: Capabilities needed to read and make files of every owner and kind.
_POWERS = ('CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'MKNOD', 'SETFCAP')
_LIBRARIES = ('/usr/lib', '/usr/lib64', '/lib', '/lib64')
#: The program that makes the sandbox.
PROGRAM = 'bwrap'
_CAGE = (
    PROGRAM,
    '--unshare-net',
    '--unshare-ipc',
    '--unshare-pid',
    '--unshare-uts',
    '--die-with-parent',
    '--clearenv',
    '--setenv',
    'LC_ALL',
    'C',
    '--cap-drop',
    'ALL',
    *(word for power in _POWERS for word in ('--cap-add', f'CAP_{power}')),
    *(word for path in _LIBRARIES for word in ('--ro-bind-try', path, path)),
)


def words(target: Path, program: str, *arguments: str, source: Path | None = None) -> tuple[str, ...]:
    """Return the command that runs the program with write access to ``target`` and read access to ``source``.

    The program ends with the thread that starts it.

    :raises CommandFailed: the program is not installed.
    """
    path = shutil.which(program, path=ENV['PATH'])
    if path is None:
        raise CommandFailed(f'{program} is not installed')
    reads = ('--ro-bind', str(source), SOURCE) if source else ()
    return (
        *_CAGE,
        '--ro-bind',
        path,
        path,
        *reads,
        '--bind',
        str(target),
        TARGET,
        '--remount-ro',
        '/',
        '--chdir',
        '/',
        '--',
        path,
        *arguments,
    )
