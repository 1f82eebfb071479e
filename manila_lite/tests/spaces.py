# SPDX-License-Identifier: Apache-2.0
"""Namespaces for each process that runs tests as root: of mounts, and of processes.

No other process sees what its tests mount, nor the names of their network namespaces. Its tests see no process of another:
a daemon is known by its program, user and words, which may be those of another's. All of it goes with the process that was
started to run the tests, even after a kill: mounts, loop devices, and daemons, which leave their parents.
"""

import ctypes
import os
import signal

_NEW_MOUNTS, _NEW_PROCESSES = 0x20000, 0x20000000  # CLONE_NEWNS and CLONE_NEWPID of sched.h
_PRIVATE = (1 << 18) | (1 << 14)  # MS_PRIVATE and MS_REC of sys/mount.h
_PR_SET_PDEATHSIG = 1
#: ``ip netns`` has the names of namespaces here.
_NAMES = '/run/netns'

_entered: list[bool] = []
_libc = ctypes.CDLL(None, use_errno=True)


def enter():
    """Return in a new process, in namespaces of its own, if this one is root. It must have one thread only.

    This process waits for the end of the new one, and ends with its status.
    """
    if os.geteuid() or _entered:
        return
    _entered.append(True)
    os.makedirs(_NAMES, exist_ok=True)
    _try(_libc.unshare(_NEW_MOUNTS | _NEW_PROCESSES))
    _try(_libc.mount(None, b'/', None, _PRIVATE, None))
    _try(_libc.mount(b'tmpfs', _NAMES.encode(), b'tmpfs', 0, b'mode=755'))
    _fork()
    # The first process of a namespace: all others end with it, and it inherits those whose parent ended.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _try(_libc.mount(b'proc', b'/proc', b'proc', 0, None))
    _fork()


def _fork():
    """Return in a new process. This one ends when that has ended, with its status, and reaps all its other children."""
    new = os.fork()
    if not new:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the process with the tests cleans up
    while (ended := os.wait())[0] != new:
        pass
    status = os.waitstatus_to_exitcode(ended[1])
    os._exit(status if status >= 0 else 128 - status)


def _try(failed):
    if failed:
        raise OSError(
            ctypes.get_errno(), 'namespaces for tests: run them as root with CAP_SYS_ADMIN, or as a user'
        )
