# SPDX-License-Identifier: Apache-2.0
"""The mark on a shared pool's device: the host that has the pool, and a beat that goes on while it has.

The mark is where btrfs never reads nor writes: in the first 64 KiB of a device, which are kept for boot loaders. It is read
and written past the caches of the host, so that each host sees what another has written.
"""

import dataclasses
import hashlib
import json
import mmap
import os
from pathlib import Path

from manila_lite.host.commands import CommandFailed
from manila_lite.host.descriptors import opened

#: Place and size of the mark, in bytes: one block of any disk.
_AT, _SIZE = 48 << 10, 4096
_MAGIC = b'manila_lite pool mark 1\n'
_DIGEST = 64
#: Tries to read a mark that is being written.
_TRIES = 3


@dataclasses.dataclass(frozen=True)
class Mark:
    """A mark. ``token`` is a name of the host, in this boot, that no other host has, ``name`` its host name, ``state`` the
    folder in which it mounts the pool. ``beat`` grows while the host has the pool; ``free`` says that it has let go.
    """

    token: str
    name: str
    state: str
    beat: int = 0
    free: bool = False


def are_of_one_host(*tokens: str) -> bool:
    """Say whether the tokens are of one host, in any of its boots, or of copies of its disk."""
    return len({token.partition('.')[0] for token in tokens}) == 1


def is_marked(device: Path) -> bool:
    """Say whether the device has a mark, even a torn one.

    :raises CommandFailed: the device cannot be read.
    """
    return _read(device).startswith(_MAGIC)


def erasing(device: Path) -> str:
    """Return the command that erases the mark of the device."""
    return f'dd if=/dev/zero of={device} bs={_SIZE} seek={_AT // _SIZE} count=1 conv=fsync'


def read(device: Path) -> Mark | None:
    """Return the mark of the device, or None if it never had one.

    :raises CommandFailed: the device cannot be read, or something else is in the place of the mark.
    """
    for _ in range(_TRIES):
        block = _read(device)
        if not any(block):
            return None
        digest, text = block[len(_MAGIC) :][:_DIGEST], block[len(_MAGIC) + _DIGEST :].rstrip(b'\0')
        if block.startswith(_MAGIC) and digest == _digest(text):
            about = json.loads(text)  # of another release it may have more
            return Mark(
                **{field.name: about[field.name] for field in dataclasses.fields(Mark) if field.name in about}
            )
    raise CommandFailed(
        f'{device} has data in its first 64 KiB that are not of manila_lite, so it cannot be marked; '
        'make a new btrfs on a device without a boot loader'
    )


def write(device: Path, mark: Mark) -> None:
    """Write the mark to the device itself.

    :raises CommandFailed: the device refuses it.
    """
    text = json.dumps(dataclasses.asdict(mark)).encode()
    block = _MAGIC + _digest(text) + text
    with mmap.mmap(-1, _SIZE) as buffer:  # aligned to a page, as the device requires it
        buffer[: len(block)] = block
        try:
            with opened(device, os.O_WRONLY | os.O_DIRECT | os.O_DSYNC) as fd:
                os.pwritev(fd, [buffer], _AT)
        except OSError as bad:
            raise CommandFailed(f'{device} cannot be marked: {bad}') from bad


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _read(device: Path) -> bytes:
    with mmap.mmap(-1, _SIZE) as buffer:
        try:
            with opened(device, os.O_RDONLY | os.O_DIRECT) as fd:
                os.preadv(fd, [buffer], _AT)
        except OSError as bad:
            raise CommandFailed(f'{device} cannot be read: {bad}') from bad
        return bytes(buffer)
