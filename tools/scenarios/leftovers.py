# SPDX-License-Identifier: Apache-2.0
"""Removal of what killed runs have left beside the share service: processes and mounts, by the folder of their files."""

import contextlib
import shutil
from pathlib import Path

import psutil

from manila_lite.host import mounts
from scenarios import settings


def sockets_of(state):
    """Return the folder of the compute service's guests: the path of a Unix socket must be short, wherever the checkout is."""
    return Path('/run', settings.prefix(state))


def gone(state):
    """End the processes and unmount the folders that a killed run has left."""
    place = state / settings.BESIDE_FOLDER
    record = place / 'pid'
    end(record, 'mlite-')
    record.unlink(missing_ok=True)
    clear(place)
    clear(sockets_of(state))
    shutil.rmtree(sockets_of(state), ignore_errors=True)


def clear(folder):
    """End all processes that were started with a path in the folder, and unmount what is mounted in it."""
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(f'{folder}/' in word for word in one.cmdline()):
                one.kill()
                one.wait(30)
    table = [line.split(' ')[4] for line in Path('/proc/self/mountinfo').read_text().splitlines()]
    for place in sorted((place for place in table if place.startswith(f'{folder}/')), reverse=True):
        mounts.unmount(Path(place))


def end(record, command):
    """End the service of an earlier run whose pid is in a file, unless another process has that pid now."""
    if not record.exists():
        return
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(int(record.read_text()))
        if any(command in word for word in process.cmdline()):
            process.terminate()
            process.wait(70)
