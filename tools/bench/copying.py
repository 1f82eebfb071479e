#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data that the linux driver copies from one backend of this machine to another, against the same commands by hand.

By hand that is ``btrfs send | btrfs receive`` of each snapshot and share, as whoever knows what there is would type it.
Both copy the same between the same pools, in turn. Needs root and btrfs-progs.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report

from manila_lite.drivers.linux.pool import btrfs
from manila_lite.drivers.linux.pool.btrfs_pool import BtrfsPool
from manila_lite.drivers.linux.replication.replication import Copy
from manila_lite.host.commands import ENV

LEAST = 0.8
_CONF = """[DEFAULT]
state_path = {root}
enabled_share_backends = source
[source]
driver = linux
linux_pool_path = {root}/source.img
linux_pool_size_gb = {gib}
"""
_SHARES, _ROUNDS = 2, 3
_MIB = 1 << 20


def _fill(pool: BtrfsPool, mebibytes: int, files: int) -> None:
    """Make two shares, each with a snapshot taken when half of the files were written."""
    data = os.urandom(max(mebibytes * _MIB // files // _SHARES, 1))
    for share in map(str, range(_SHARES)):
        pool.create(share, mebibytes // 1024 + 1)
        for number in range(files):
            if number == files // 2:
                pool.take_snapshot(f'snap{share}', share)
            (pool.share(share) / f'file{number}').write_bytes(number.to_bytes(8, 'big') + data[8:])
    btrfs.sync(pool.root)


def _by_hand(source: BtrfsPool, target: BtrfsPool, number: int) -> float:
    """Return the seconds of the copy by hand."""
    place = target.root / f'hand{number}'
    place.mkdir()
    began = time.monotonic()
    for share in map(str, range(_SHARES)):
        last = source.root / f'hand{number}-{share}'
        btrfs.snapshot(source.share(share), last, read_only=True)
        taken = source.snapshot(f'snap{share}')
        _pipe(['send', str(taken)], place)
        _pipe(['send', '-p', str(taken), str(last)], place)
    btrfs.sync(target.root)
    seconds = time.monotonic() - began
    for gone in (*place.iterdir(), *source.root.glob(f'hand{number}-*')):
        btrfs.delete(gone)
    return seconds


def _pipe(words: list[str], place: Path) -> None:
    with subprocess.Popen(['btrfs', '--quiet', *words], env=ENV, stdout=subprocess.PIPE) as sends:
        subprocess.run(['btrfs', '--quiet', 'receive', str(place)], env=ENV, stdin=sends.stdout, check=True)
    if sends.returncode:
        raise SystemExit('btrfs send failed')


def _by_driver(conf: Path, target: BtrfsPool, number: int) -> float:
    """Return the seconds of the copy by the driver."""
    command = [sys.executable, '-m', 'manila_lite.drivers.linux.peer', '--config-file', str(conf), 'source']
    copy = Copy(target, command, f'm{number}', {str(share): [f'snap{share}'] for share in range(_SHARES)})
    began = time.monotonic()
    with copy.session() as session:
        copy.round(session)
    btrfs.sync(target.root)
    seconds = time.monotonic() - began
    with copy.session() as session:
        copy.clear(session)
    copy.clear_here()
    return seconds


def measure(figures: report.Report) -> None:
    """Measure, and fill the report."""
    mebibytes, files = figures.pick((16, 100), (512, 2000), (2048, 8000))
    with tempfile.TemporaryDirectory(prefix='manila-lite-bench-') as folder:
        root = Path(folder).resolve()
        gib = mebibytes * 4 // 1024 + 2
        conf = root / 'conf'
        conf.write_text(_CONF.format(root=root, gib=gib))
        source = BtrfsPool(root / 'source' / 'pool', root / 'source.img', gib)
        target = BtrfsPool(root / 'target' / 'pool', root / 'target.img', gib)
        try:
            for pool in (source, target):
                pool.open()
            report.say(f'filling {mebibytes} MiB')
            _fill(source, mebibytes, files)
            hand, driver = [], []
            for number in range(_ROUNDS):
                hand.append(_by_hand(source, target, number))
                driver.append(_by_driver(conf, target, number))
                report.say(f'by hand {hand[-1]:.2f} s, by the driver {driver[-1]:.2f} s')
        finally:
            for pool in (source, target):
                pool.close(remove_data=True)
    baseline = figures.add('by hand', mebibytes / statistics.median(hand), 'MiB/s')
    figures.add('by the driver', mebibytes / statistics.median(driver), 'MiB/s', to=baseline,
                least=None if figures.size == report.TINY else LEAST)
    figures.note(f'{mebibytes} MiB in {_SHARES} shares and a snapshot of each, {files} files a share; medians of {_ROUNDS}.')


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
