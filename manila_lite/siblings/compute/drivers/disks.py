# SPDX-License-Identifier: Apache-2.0
"""Disks of servers: raw copies of images, so that data written by a guest is never parsed as a file format."""

import json
import os
from pathlib import Path

from manila_lite import errors
from manila_lite.host.commands import run

#: Seconds that a copy of a disk may take.
_COPY_SECONDS = 3600.0
_QCOW2 = '.qcow2'
_GIB = 1 << 30


def make(image: Path, disk: Path, gib: int) -> None:
    """Make the disk with the content of the image, at least ``gib`` GiB large.

    :raises errors.Final: the image needs another file, or does not exist.
    """
    if not image.is_file():
        raise errors.Final(f'There is no image {image.name}.')
    draft = disk.with_suffix('.new')
    draft.unlink(missing_ok=True)
    if image.suffix == _QCOW2:
        info = json.loads(run('qemu-img', 'info', '--output=json', '-f', 'qcow2', str(image)))
        if 'backing-filename' in info or info.get('format-specific', {}).get('data', {}).get('data-file'):
            raise errors.Final(f'The image {image.name} depends on another file.')
        run('qemu-img', 'convert', '-f', 'qcow2', '-O', 'raw', str(image), str(draft), seconds=_COPY_SECONDS)
    else:
        _copy(image, draft)
    grow(draft, gib)
    os.replace(draft, disk)


def grow(disk: Path, gib: int) -> None:
    """Extend the disk to at least ``gib`` GiB."""
    if disk.stat().st_size < gib * _GIB:
        os.truncate(disk, gib * _GIB)


def keep(disk: Path, image: Path, draft: Path) -> None:
    """Copy the disk to an image, which appears when it is complete. ``draft``: its path until then, in the same folder.

    :raises errors.Final: the image's name is that of another format.
    """
    if image.suffix == _QCOW2:
        raise errors.Final(f'An image of a disk is raw, so its name cannot end in {_QCOW2}.')
    _copy(disk, draft)
    os.replace(draft, image)


def _copy(source: Path, target: Path) -> None:
    run('cp', '--reflink=auto', '--sparse=always', '--', str(source), str(target), seconds=_COPY_SECONDS)
    with target.open('rb') as file:
        os.fsync(file.fileno())
