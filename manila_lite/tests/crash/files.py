# SPDX-License-Identifier: Apache-2.0
"""Files of shares: a directory for each share of a dummy backend, which the host that copies uses in place of the export.

A share keeps its id when its share server moves, so those on share servers are in a directory of their backend.
"""

import ipaddress
import shutil
from collections.abc import Iterator
from pathlib import Path

from manila_lite.host import mounts
from manila_lite.tests.functional.migrations import test_host_assisted

#: Addresses of the backends, the first and those that they are given later.
ADDRESSES = ('10.0.0.1', *(str(address) for address in ipaddress.ip_network('10.77.0.0/24').hosts()))
_TEXT = 'of share {}'
#: The first letter of the directory of a backend; ids have others.
_BACKEND = '@'


def lacks() -> str:
    """Return what this machine lacks for copies by a host, or an empty text."""
    return test_host_assisted.missing()


def local_exports(state: Path) -> str:
    """Return the value of ``data_node_local_exports``."""
    return ', '.join(f'{address}:/shares={_served(state)}' for address in ADDRESSES)


def _served(state: Path) -> Path:
    return state / 'served'


def name(instance_id: str, backend: str, *, on_server: bool) -> str:
    """Return the name of the directory of a share."""
    return f'{_BACKEND}{backend}/{instance_id}' if on_server else instance_id


def export(place: str) -> str:
    """Return the export location by which the host that copies finds the directory of this name."""
    return f'{ADDRESSES[0]}:/shares/{place}'


def make(state: Path, place: str) -> None:
    """Make the directory of a share, unless it is there."""
    (_served(state) / place).mkdir(parents=True, exist_ok=True)


def delete(state: Path, place: str) -> None:
    """Delete the directory of a share, if it is there."""
    shutil.rmtree(_served(state) / place, ignore_errors=True)


def fill(state: Path, share_id: str, place: str) -> None:
    """Write a file into the share, which it must have from now on."""
    (_served(state) / place / share_id).write_text(_TEXT.format(share_id))
    (state / 'filled').mkdir(exist_ok=True)
    (state / 'filled' / share_id).touch()


def has_lost(state: Path, share_id: str, place: str) -> bool:
    """Say whether the share had a file, and has it no more."""
    try:
        return (state / 'filled' / share_id).exists() and (
            _served(state) / place / share_id
        ).read_text() != _TEXT.format(share_id)
    except FileNotFoundError:
        return True


def of_instances(state: Path) -> Iterator[tuple[str, str]]:
    """Yield the id of each instance with files or mounts, and which."""
    for folder in (*_served(state).glob(f'[!{_BACKEND}]*'), *_served(state).glob(f'{_BACKEND}*/*')):
        yield folder.name, 'files'
    for place in state.glob('*/moves/*'):
        yield place.name.partition('.')[0], 'a mount point'


def unmount_below(state: Path) -> None:
    """Unmount what copies of killed processes left."""
    for place in state.glob('*/moves/*'):
        mounts.unmount(place)
