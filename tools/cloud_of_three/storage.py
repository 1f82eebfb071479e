# SPDX-License-Identifier: Apache-2.0
"""Disks: one for each backend, which both storage hosts reach, as over Fibre Channel; and one for each controller.

Each is a loop device over a sparse file.
"""

import os

from manila_lite.host import mounts
from manila_lite.tests.functional.linux.base import command

BACKENDS = ('alpha', 'beta')
_BYTES, _SYSTEM_BYTES = 20 << 30, 3 << 30


def _image(state, backend):
    return state / f'{backend}.img'


def _make(image, size, *words):
    """Make the file of a disk, with a file system."""
    if not image.exists():
        new = image.with_suffix('.new')
        with new.open('wb') as file:
            file.truncate(size)
        command(*words, str(new))
        new.rename(image)


def give_disk(state, host):
    """Have a host's folder on a disk of its own, which can become full."""
    host.own.mkdir(parents=True, exist_ok=True)
    if not os.path.ismount(host.own):
        image = _image(state, host.name)
        _make(image, _SYSTEM_BYTES, 'mkfs.ext4', '-q', '-F')
        command('mount', '-o', 'loop', str(image), str(host.own))


def attach(state):
    """Have a device for each backend; return them by backend. A new one gets an empty btrfs."""
    for backend in BACKENDS:
        image = _image(state, backend)
        _make(image, _BYTES, 'mkfs.btrfs', '--quiet', '--force')
        if not mounts.loop_of(image):
            command('losetup', '--find', '--nooverlap', str(image))
    return {backend: mounts.loop_of(_image(state, backend)) for backend in BACKENDS}


def detach(state):
    """Detach all disks."""
    for folder in (state / 'hosts').glob('*'):
        if os.path.ismount(folder):
            command('umount', str(folder))
    for backend in BACKENDS:
        if _image(state, backend).exists():
            mounts.detach(_image(state, backend))
