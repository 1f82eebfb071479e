# SPDX-License-Identifier: Apache-2.0
"""Copies of a share whose owner chose the names of its files for rsync's errors: all of them fail, again and again."""

import dataclasses
import subprocess
import time
from pathlib import Path
from typing import Any

from manila_lite.host_copy import rsync

#: Files, of each of which rsync tells an error; and what their names are made of.
_FILES = 2000
_PARTS = ('" -> "', '": ', 'a', ' (12)', '"', ' failed: ', '\\', '\n')
#: Seconds between two looks of the other thread, and between two copies.
_LOOK, _PAUSE = 0.01, 1.0


@dataclasses.dataclass
class Copied:
    """The copies, the longest time in seconds that another thread of their process waited, and ends that were none of ours."""

    number: int = 0
    longest: float = 0.0
    wrong: set[str] = dataclasses.field(default_factory=set)


def copy(place: str, end: Any) -> None:
    """Copy in this folder until told to stop; then send what happened. No file can be made in the target."""
    source, target = Path(place, 'source'), Path(place, 'target')
    for folder in (source, target):
        folder.mkdir(parents=True)
    for number in range(_FILES):
        part = _PARTS[number % len(_PARTS)]
        (source / f'{number}{part * (200 // len(part))}').touch()
    copied = Copied()
    subprocess.run(['chattr', '+i', target], check=True)
    try:
        while not end.poll(_PAUSE):
            _copy(source, target, copied)
    finally:
        subprocess.run(['chattr', '-i', target], check=True)
    end.send(copied)


def _copy(source: Path, target: Path, copied: Copied) -> None:
    going = rsync.Copy(source, target)
    while going.is_alive():
        began = time.monotonic()
        time.sleep(_LOOK)  # sleeps: between two looks whether this thread runs
        copied.longest = max(copied.longest, time.monotonic() - began - _LOOK)
    copied.number += 1
    if not str(going.error).startswith('rsync: stopped after '):
        copied.wrong.add(str(going.error)[:500])
