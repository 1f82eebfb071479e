# SPDX-License-Identifier: Apache-2.0
"""Names of processes and workers. A later process on the same machine can tell by the name whether an earlier one lives."""

import itertools
import os
import socket
from pathlib import Path

_workers = itertools.count(1)


def name() -> str:
    """Return the name of this process: ``host/boot and namespace/pid/start``.

    The start is in clock ticks since the boot, which no change of the clock moves. A pid means something only to
    processes of the same boot and the same pid namespace: containers may share a host's name.
    """
    return f'{socket.gethostname()}/{_world()}/{os.getpid()}/{_started(os.getpid())}'


def worker_name() -> str:
    """Return a name for a new worker: ``PROCESS/number``.

    A claim belongs to one worker of a process. A scheduler may go on for a moment with an operation that it has passed on, and
    that a share manager in the same process has claimed.
    """
    return f'{name()}/{next(_workers)}'


def is_dead(owner: str) -> bool:
    """Say whether the process of that name, or of that worker, is known to have ended.

    A process that cannot be seen from here may live: its lease decides.
    """
    host, world, pid, started = (owner.split('/') + [''] * 3)[:4]
    if host != socket.gethostname() or world != _world() or not pid.isdigit():
        return False
    return _started(int(pid)) != started


def machine_of(owner: str) -> str:
    """Return the host name of the machine of the process, or worker, of that name."""
    return owner.partition('/')[0]


def is_of_another_machine(owner: str) -> bool:
    """Say whether the process of that name, or of that worker, is on another machine, or was before this one's last boot."""
    world = (owner.split('/') + [''])[1]
    return bool(world) and world.partition('-')[0] != _world().partition('-')[0]


def _world() -> str:
    boot = Path('/proc/sys/kernel/random/boot_id').read_text(encoding='ascii')[:8]
    return f'{boot}-{os.stat("/proc/self/ns/pid").st_ino}'


def _started(pid: int) -> str:
    try:
        text = Path(f'/proc/{pid}/stat').read_text(encoding='utf-8', errors='replace')
    except FileNotFoundError:
        return ''
    # The command's name, in brackets, may hold anything. A zombie does nothing any more.
    state, *fields = text.rpartition(')')[2].split()
    return '' if state in 'ZX' else fields[18]
