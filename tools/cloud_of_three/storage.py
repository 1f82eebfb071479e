# SPDX-License-Identifier: Apache-2.0
"""Disks that both storage hosts reach, as over Fibre Channel: a loop device over a sparse file for each backend."""

from manila_lite.host import mounts
from manila_lite.tests.functional.linux.base import command

BACKENDS = ('alpha', 'beta')
_BYTES = 20 << 30


def _image(state, backend):
    return state / f'{backend}.img'


def attach(state):
    """Have a device for each backend; return them by backend. A new one gets an empty btrfs."""
    for backend in BACKENDS:
        image, new = _image(state, backend), _image(state, f'{backend}.new')
        if not image.exists():
            with new.open('wb') as file:
                file.truncate(_BYTES)
            command('mkfs.btrfs', '--quiet', '--force', str(new))
            new.rename(image)
        if not mounts.loop_of(image):
            command('losetup', '--find', '--nooverlap', str(image))
    return {backend: mounts.loop_of(_image(state, backend)) for backend in BACKENDS}


def detach(state):
    """Detach the devices."""
    for backend in BACKENDS:
        if _image(state, backend).exists():
            mounts.detach(_image(state, backend))
