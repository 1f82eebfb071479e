# SPDX-License-Identifier: Apache-2.0
"""Run a program that sees other files in /etc: ``python private_etc.py FOLDER PROGRAM WORD...``.

Names of hosts are to be asked of the DNS server of a domain, and not as this machine asks for them. Each file of the folder
takes the place of that of the same name, for this program alone: it has a mount namespace of its own. The process becomes the
program, so its id is that of the program. This file imports nothing of ours: it is started by its path.
"""

import ctypes
import os
import sys

_CLONE_NEWNS, _MS_BIND, _MS_REC, _MS_SLAVE = 0x20000, 1 << 12, 1 << 14, 1 << 19
#: Files that may be missing on this machine; without them, it has no others.
_OPTIONAL = ('hosts', 'nsswitch.conf')


def main() -> None:
    """Become the program. A failure is the error message of the exit."""
    folder, *words = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)

    def call(path: str, status: int) -> None:
        if status:
            sys.exit(f'{path}: {os.strerror(ctypes.get_errno())}')

    call('a mount namespace', libc.unshare(_CLONE_NEWNS))
    call('/', libc.mount(None, b'/', None, ctypes.c_ulong(_MS_SLAVE | _MS_REC), None))
    for name in sorted(os.listdir(folder)):
        path = f'/etc/{name}'
        if os.path.exists(path) or name not in _OPTIONAL:
            source = os.fsencode(os.path.join(folder, name))
            call(path, libc.mount(source, os.fsencode(path), None, ctypes.c_ulong(_MS_BIND), None))
    os.execvp(words[0], words)  # noqa: S606 - there is no shell, on purpose


if __name__ == '__main__':
    main()
