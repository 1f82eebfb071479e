# SPDX-License-Identifier: Apache-2.0
"""Mounts and loop devices, each step done only if it is not so yet.

What users wrote is never a program or a device of this machine: whatever is mounted here is so without set-uid programs,
devices and execution. Clients and guests do not notice: what they run they read, and decide themselves what they may.
"""

import os
import time
from pathlib import Path

from manila_lite.drivers.linux.run import CommandFailed, run

#: What every mount has, and the same as statvfs(2) says it.
SAFE = 'nosuid,nodev,noexec'
_SAFE_FLAGS = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
#: How long whoever looks at devices (udev, an unmount that the kernel still works at) is given to be done with one.
_IN_USE_SECONDS = 5


def is_mounted(path: Path) -> bool:
    """Say whether something is mounted exactly there. The path must be a real one, without links."""
    wanted = str(path).replace(' ', '\\040')
    with open('/proc/self/mountinfo', encoding='utf-8', errors='surrogateescape') as table:
        return any(line.split(' ')[4] == wanted for line in table)


def mount(device: str, path: Path, *options: str) -> None:
    """The device is mounted there, with ``SAFE``, which other options do not take back."""
    path.mkdir(parents=True, exist_ok=True)
    if not is_mounted(path):
        run('mount', *options, '-o', SAFE, device, str(path))


def bind(source: Path, path: Path) -> None:
    """The directory can be reached there as a mount of its own. It need not be of a file system that is mounted so."""
    mount(str(source), path, '--bind')


def make_safe(path: Path) -> None:
    """What is mounted there, perhaps by an earlier release, has ``SAFE``. Files that are open stay so."""
    if os.statvfs(path).f_flag & _SAFE_FLAGS != _SAFE_FLAGS and is_mounted(path):
        run('mount', '-o', f'remount,bind,{SAFE}', str(path))


def unmount(path: Path) -> None:
    """Nothing is mounted there. What is busy goes from the tree at once and by itself when its last user ends."""
    while is_mounted(path):
        try:
            run('umount', str(path))
        except CommandFailed:
            run('umount', '--lazy', str(path))


def loop_of(image: Path) -> str | None:
    """Return the loop device of an image file, if it has one."""
    found = run('losetup', '--noheadings', '--output', 'NAME', '--associated', str(image)).split()
    return found[0] if found else None


def attach(image: Path) -> str:
    """The image file has a loop device. Returns it."""
    return loop_of(image) or run('losetup', '--find', '--show', str(image)).strip()


def detach(image: Path) -> None:
    """The image file has no loop device. One that is in use for seconds goes by itself when its last user ends."""
    told = set()
    end = time.monotonic() + _IN_USE_SECONDS
    while (device := loop_of(image)) and time.monotonic() < end:
        if device in told:
            time.sleep(0.02)
            continue
        told.add(device)
        try:
            run('losetup', '--detach', device)
        except CommandFailed:
            if loop_of(image) == device:
                raise
