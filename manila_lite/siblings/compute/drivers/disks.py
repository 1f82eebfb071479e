# SPDX-License-Identifier: Apache-2.0
"""Disks of servers: raw copies of images, so that nothing a guest writes is ever taken for the format of a file."""

import json
import os
from pathlib import Path

from manila_lite import errors
from manila_lite.drivers.linux.run import run

#: A copy of a disk may take this long, in seconds.
_COPY_SECONDS = 3600.0
_QCOW2 = '.qcow2'
_GIB = 1 << 30


def make(image: Path, disk: Path, gib: int) -> None:
    """The disk has the content of the image, and at least so many GiB.

    :raises errors.Final: the image builds on another file, or is not there.
    """
    if not image.is_file():
        raise errors.Final(f'There is no image {image.name}.')
    draft = disk.with_suffix('.new')
    draft.unlink(missing_ok=True)
    if image.suffix == _QCOW2:
        told = json.loads(run('qemu-img', 'info', '--output=json', '-f', 'qcow2', str(image)))
        if 'backing-filename' in told or told.get('format-specific', {}).get('data', {}).get('data-file'):
            raise errors.Final(f'The image {image.name} is not whole in itself.')
        run('qemu-img', 'convert', '-f', 'qcow2', '-O', 'raw', str(image), str(draft), seconds=_COPY_SECONDS)
    else:
        _copy(image, draft)
    grow(draft, gib)
    os.replace(draft, disk)


def grow(disk: Path, gib: int) -> None:
    """The disk has at least so many GiB."""
    if disk.stat().st_size < gib * _GIB:
        os.truncate(disk, gib * _GIB)


def keep(disk: Path, image: Path, draft: Path) -> None:
    """The image has the content of the disk; it appears when it is whole. ``draft``: what it is called until then, beside it.

    :raises errors.Final: by its name it would be taken for another format.
    """
    if image.suffix == _QCOW2:
        raise errors.Final(f'An image of a disk is raw, so its name cannot end in {_QCOW2}.')
    _copy(disk, draft)
    os.replace(draft, image)


def _copy(source: Path, target: Path) -> None:
    run('cp', '--reflink=auto', '--sparse=always', '--', str(source), str(target), seconds=_COPY_SECONDS)
    with target.open('rb') as file:
        os.fsync(file.fileno())
