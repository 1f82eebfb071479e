# SPDX-License-Identifier: Apache-2.0
"""A mount namespace for each process that runs tests as root.

No other process sees what its tests mount, nor the names of their network namespaces. All of it goes with the last process that
is in it, even after a kill.
"""

import ctypes
import os

_NEW_MOUNTS = 0x20000               # CLONE_NEWNS of sched.h
_PRIVATE = (1 << 18) | (1 << 14)    # MS_PRIVATE and MS_REC of sys/mount.h
#: ``ip netns`` has the names of namespaces here.
_NAMES = '/run/netns'


def enter():
    """Move this process into a mount namespace of its own, if it is root. It must have one thread only."""
    if os.geteuid():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs(_NAMES, exist_ok=True)
    for failed in (libc.unshare(_NEW_MOUNTS), libc.mount(None, b'/', None, _PRIVATE, None),
                   libc.mount(b'tmpfs', _NAMES.encode(), b'tmpfs', 0, b'mode=755')):
        if failed:
            raise OSError(ctypes.get_errno(), 'a mount namespace for tests: run them as root with CAP_SYS_ADMIN, or as a user')
