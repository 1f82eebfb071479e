#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies of a share by the data mover, against plain rsync: many small files, and one large sparse file.

Both sides are directories of this machine, mounted by themselves, so that the file system is the same for both ways. Each
copy is to an empty directory and ends when all is on disk. The comparison of both sides, which rsync does not make, has a
figure of its own. Needs root, rsync and bubblewrap, and 10 GB for files: in ``TMPDIR``, or else in /tmp. Take a file
system whose speed does not change with the hour; many virtual disks are throttled.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from pathlib import Path

import report

from manila_lite import values
from manila_lite.host_copy.clients import Side
from manila_lite.host_copy.rsync import Copy
from manila_lite.host_copy.share_moves import ShareMoves

LEAST = 0.8
_ROUNDS = 3
_MIB, _GIB = 1 << 20, 1 << 30
#: Files in each directory, and bytes of each; bytes of data in each GiB of the sparse file.
_IN_FOLDER, _BYTES, _DATA = 1000, 512, 8 * _MIB
#: How rsync is called by hand for the same attributes.
_BY_HAND = (
    'rsync',
    '--archive',
    '--hard-links',
    '--acls',
    '--xattrs',
    '--numeric-ids',
    '--sparse',
    '--delete',
)


def _fill_small(place: Path, files: int) -> None:
    for number in range(files):
        if number % _IN_FOLDER == 0:
            (place / str(number // _IN_FOLDER)).mkdir()
        (place / str(number // _IN_FOLDER) / str(number)).write_bytes(
            number.to_bytes(8, 'big') * (_BYTES // 8)
        )


def _fill_sparse(place: Path, gibibytes: int) -> None:
    with (place / 'disk').open('wb') as file:
        for number in range(gibibytes):
            file.seek(number * _GIB)
            file.write(os.urandom(_DATA))
        file.truncate(gibibytes * _GIB)


class Ways:
    """The two ways to copy the directory ``source`` of ``root``."""

    def __init__(self, root: Path):
        self.root = root
        conf = types.SimpleNamespace(
            data_node_access_ips=[],
            data_node_access_admin_user=None,
            data_node_mount_options={},
            data_node_local_exports=[f'nas:/shares={root}'],
            mount_tmp_location=None,
            check_hash=False,
            data_check_sample=0,
            data_copy_bandwidth_limit=0.0,
            data_copy_apparent_ratio=0.0,
        )
        self.moves = ShareMoves(root / 'state', conf, types.SimpleNamespace(migration_ignore_files=[]))

    def by_hand(self) -> float:
        """Return the seconds of rsync."""
        target = self._empty()
        return report.seconds(
            lambda: subprocess.run([*_BY_HAND, f'{self.root}/source/', f'{target}/'], check=True)
        )

    def by_mover(self) -> float:
        """Return the seconds of a pass of the data mover."""
        self._empty()
        return report.seconds(lambda: self._end(self.moves.copy), os.sync)

    def compare(self) -> float:
        """Return the seconds of the comparison after that."""
        return report.seconds(lambda: self._end(self.moves.compare), os.sync)

    def _empty(self) -> Path:
        target = self.root / 'target'
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        os.sync()
        return target

    def _end(self, start: Callable[[Side, Side], Copy]) -> None:
        sides = [
            Side(
                values.Share(
                    name,
                    name,
                    'p',
                    1,
                    'NFS',
                    'pool',
                    export_locations=(values.ExportLocation(f'nas:/shares/{name}', True),),
                )
            )
            for name in ('source', 'target')
        ]
        start(*sides).join()
        run = start(*sides)
        if not run.is_complete or run.messages.differing:
            raise SystemExit(f'the copy failed: {run.error} {run.messages.differing}')
        self.moves.clear('target')


def _measure(
    figures: report.Report, what: str, unit: str, amount: float, fill: Callable[[Path], None]
) -> None:
    with tempfile.TemporaryDirectory(prefix='manila-lite-bench-') as folder:
        ways = Ways(Path(folder).resolve())
        (ways.root / 'source').mkdir()
        report.say(f'filling: {what}')
        fill(ways.root / 'source')
        hand, mover, compared = [], [], []
        try:
            for _ in range(_ROUNDS):
                hand.append(ways.by_hand())
                mover.append(ways.by_mover())
                compared.append(ways.compare())
                report.say(
                    f'{what}: by hand {hand[-1]:.2f} s, by the mover {mover[-1]:.2f} s, compared {compared[-1]:.2f} s'
                )
        finally:
            ways.moves.clear('target')
    baseline = figures.add(f'{what} by hand', amount / statistics.median(hand), unit)
    figures.add(
        f'{what} by the mover',
        amount / statistics.median(mover),
        unit,
        to=baseline,
        least=None if figures.size == report.TINY else LEAST,
    )
    figures.add(f'{what} compared', amount / statistics.median(compared), unit)


def measure(figures: report.Report) -> None:
    """Measure, and fill the report."""
    files, gibibytes = figures.pick((200, 1), (50_000, 5), (1_000_000, 50))
    _measure(figures, f'{files} small files', 'files/s', files, lambda place: _fill_small(place, files))
    _measure(
        figures,
        f'a sparse file of {gibibytes} GiB',
        'MiB/s',
        gibibytes * 1024,
        lambda place: _fill_sparse(place, gibibytes),
    )
    figures.note(
        f'Small files have {_BYTES} bytes; the sparse file has {_DATA // _MIB} MiB of data in each GiB, and its MiB '
        f'include the holes. Medians of {_ROUNDS}, each to an empty directory.'
    )


if __name__ == '__main__':
    sys.exit(report.main(__doc__, measure))
