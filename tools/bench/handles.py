#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs that file handles end at their share: ways to see to it, beside each other and beside not doing so.

"open" is NFS-Ganesha as it comes, on subvolumes of one pool: handles open all of it. "guarded" is the same with the guard of
the linux driver, which is how shares are served. "images" are shares that each are a btrfs of their own, on a file in the pool.
A client sends raw NFS over the loopback; all take turns. Then shares are made in both ways. Needs root.
"""

import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import report

from manila_lite import values
from manila_lite.drivers.file_servers.ganesha import Ganesha
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.protocols import handle_guard
from manila_lite.drivers.linux.protocols.protocol_server import ProtocolServer
from manila_lite.drivers.linux.protocols.vfs import Vfs
from manila_lite.host import mounts
from manila_lite.host.commands import run
from manila_lite.tests.process import free_port
from manila_lite.tests.security import nfs4

_MIB = 1 << 20
_RULE = values.AccessRule('r', 'ip', '127.0.0.1', 'rw')


class _Open(Vfs):
    """Local file systems without a guard."""

    @property
    def plugins(self) -> Path:
        """Return the folder of the plug-in itself."""
        behind = handle_guard.plugin()
        if behind is None:
            raise SystemExit('nfs-ganesha-vfs is not installed')
        return behind.parent

    @property
    def safe(self) -> bool:
        """Say that exports may be served."""
        return True

    def place(self) -> None:
        """Do nothing."""


def _guarded(state: Path, port: int) -> Ganesha:
    """Return NFS-Ganesha with the guard, as shares are served."""
    return Ganesha(state, port, Vfs(state), netns=None, graceless=True, grace=30)


def _as_it_comes(state: Path, port: int) -> Ganesha:
    """Return NFS-Ganesha without a guard."""
    return Ganesha(state, port, _Open(state), netns=None, graceless=True, grace=30)


class Images:
    """Shares that are file systems, on files of a pool."""

    def __init__(self, root: Path):
        self.root = root
        # Without +C, the lower file system would copy each block that the inner file system copies on write, too.
        root.mkdir()
        run('chattr', '+C', str(root))

    def place(self, name: str) -> Path:
        """Return the mount point of a share."""
        return self.root.parent.parent / 'mounted' / name

    def _mount(self, image: Path, name: str) -> None:
        device = run('losetup', '--find', '--show', '--direct-io=on', str(image)).strip()
        mounts.mount(device, self.place(name), '-o', 'noatime,nosuid,nodev')

    def make(self, name: str) -> None:
        """Make a share of 1 GiB."""
        image = self.root / name
        with image.open('wb') as file:
            file.truncate(1 << 30)
        run('mkfs.btrfs', '--quiet', '--metadata', 'single', str(image))
        self._mount(image, name)

    def snapshot(self, name: str, taken: str) -> None:
        """Copy the image at one moment."""
        run('fsfreeze', '--freeze', str(self.place(name)))
        try:
            run('cp', '--reflink=always', str(self.root / name), str(self.root / taken))
        finally:
            run('fsfreeze', '--unfreeze', str(self.place(name)))

    def clone(self, taken: str, name: str) -> None:
        """Make a share with the same content; the kernel needs another id for it."""
        run('cp', '--reflink=always', str(self.root / taken), str(self.root / name))
        run('btrfstune', '-f', '-m', str(self.root / name))
        self._mount(self.root / name, name)

    def extend(self, name: str) -> None:
        """Extend the share to 2 GiB."""
        os.truncate(self.root / name, 2 << 30)
        run('losetup', '--set-capacity', mounts.loop_of(self.root / name) or '')
        run('btrfs', 'filesystem', 'resize', 'max', str(self.place(name)))

    def clear(self) -> None:
        """Unmount everything."""
        for place in sorted(self.place('').glob('*')):
            mounts.unmount(place)
        for image in self.root.iterdir():
            mounts.detach(image)


class Subvolumes:
    """Shares as the driver makes them."""

    def __init__(self, pool: BtrfsPool):
        self.make = lambda name: pool.create(name, 1)
        self.snapshot = lambda name, taken: pool.take_snapshot(taken, name)
        self.clone = lambda taken, name: pool.clone(name, taken, 1)
        self.extend = lambda name: pool.resize(name, 2)


@contextlib.contextmanager
def _served(kind: Callable[[Path, int], Ganesha], state: Path, source: Path) -> Iterator[tuple[nfs4.Client, bytes]]:
    """Serve a share; yield a client of it, and its handle."""
    port = free_port()
    server = kind(state, port)
    protocol_server = ProtocolServer(state, server, lambda share_id: None)
    protocol_server.start()
    try:
        [block], _ = server.blocks([_RULE])
        protocol_server.serve('share', source, [block.text])
        client = nfs4.Client('127.0.0.1', port)
        yield client, client.walk('shares', 'share')
        client.close()
    finally:
        protocol_server.stop()


def _seconds(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def write(client: nfs4.Client, file: bytes, mebibytes: int) -> None:
    """Write a file by a raw client, in pieces of one MiB, and commit it."""
    piece = os.urandom(_MIB)
    for number in range(mebibytes):
        client.write(file, piece, number * _MIB, stable=False)
    client.commit(file)


def read(client: nfs4.Client, file: bytes, mebibytes: int) -> None:
    """Read a file by a raw client, in pieces of one MiB."""
    for number in range(mebibytes):
        client.read(file, _MIB, number * _MIB)


def _folder(client: nfs4.Client, root: bytes) -> None:
    client.make(root, 'folder')
    client.remove(root, 'folder')


def _data(figures: report.Report, ways: dict[str, tuple[nfs4.Client, bytes]], files: dict[str, bytes]) -> None:
    """Measure latencies and bandwidths of all ways, in turns."""
    mebibytes, calls, rounds = figures.pick((2, 20, 2), (64, 300, 5), (256, 1000, 9))
    page = os.urandom(4096)
    rows: dict[str, Callable[[str], Callable[[], object]]] = {
        'write': lambda name: partial(write, ways[name][0], files[name], mebibytes),
        'read': lambda name: partial(read, ways[name][0], files[name], mebibytes),
        '4 KiB written to disk': lambda name: partial(ways[name][0].write, files[name], page),
        '4 KiB read': lambda name: partial(ways[name][0].read, files[name]),
        'a folder made and removed': lambda name: partial(_folder, *ways[name])}
    for what, call in rows.items():
        large = what in ('write', 'read')
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds if large else calls):
            for name in ways:
                taken[name].append(_seconds(call(name)))
        baseline = None
        for name, seconds in taken.items():
            middle = statistics.median(seconds)
            value, unit = (mebibytes / middle, 'MiB/s') if large else (middle * 1e6, 'us')
            line = figures.add(f'{what}, {name}', value, unit, to=baseline)
            baseline = baseline or line
            if not large:
                figures.add(f'{what}, {name}, p99', report.percentile(seconds, 0.99) * 1e6, unit)


def _available() -> int:
    """Return the available memory in KiB."""
    os.sync()
    Path('/proc/sys/vm/drop_caches').write_text('3')
    [line] = [line for line in Path('/proc/meminfo').read_text().splitlines() if line.startswith('MemAvailable')]
    return int(line.split()[1])


def _life(figures: report.Report, ways: dict[str, Images | Subvolumes]) -> None:
    """Measure the time of operations on shares, and the memory of a share."""
    count = figures.pick(3, 40, 1000)
    for name, way in ways.items():
        before = _available()
        made = [_seconds(partial(way.make, f's{number}')) for number in range(count)]
        figures.add(f'create, {name}', statistics.median(made) * 1000, 'ms')
        figures.add(f'create, {name}, the last tenth', statistics.median(made[-max(1, count // 10):]) * 1000, 'ms')
        figures.add(f'memory of a share, {name}', max(0, before - _available()) / count, 'KiB')
        for what, call, words in (('snapshot', way.snapshot, 's{0} t{0}'), ('clone', way.clone, 't{0} c{0}'),
                                  ('extend', way.extend, 's{0}')):
            taken = [_seconds(partial(call, *words.format(number).split())) for number in range(min(count, 20))]
            figures.add(f'{what}, {name}', statistics.median(taken) * 1000, 'ms')
        report.say(f'{count} shares by {name}')


def measure(figures: report.Report) -> None:
    """Measure, and fill the report."""
    with tempfile.TemporaryDirectory(prefix='manila-lite-bench-') as folder, contextlib.ExitStack() as end:
        root = Path(folder).resolve()
        pool = BtrfsPool(root / 'pool', root / 'pool.img', 40)
        end.callback(pool.close, remove_data=True)
        pool.open()
        images = Images(pool.root / 'images')
        end.callback(images.clear)
        images.make('share')
        for name in ('open', 'guarded'):
            pool.create(name, 1)
        places = {'open': (_as_it_comes, pool.share('open')), 'guarded': (_guarded, pool.share('guarded')),
                  'images': (_as_it_comes, images.place('share'))}
        with contextlib.ExitStack() as clients:
            ways = {name: clients.enter_context(_served(kind, root / name, source)) for name, (kind, source) in places.items()}
            for _, source in places.values():
                (source / 'file').touch()
            files = {name: client.lookup(handle, 'file') for name, (client, handle) in ways.items()}
            _data(figures, ways, files)
        _life(figures, {'subvolumes': Subvolumes(pool), 'images': images})
        figures.note('Medians. Images are files without copy-on-write in the same pool, through loop devices with direct I/O.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
