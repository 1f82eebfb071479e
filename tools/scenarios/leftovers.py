# SPDX-License-Identifier: Apache-2.0
"""Removal of what killed runs have left beside the share service: processes and mounts, by the folder of their files."""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import psutil

from manila_lite.host import mounts
from scenarios import settings


def place_of(state):
    """Return the folder of a service beside, whose files are deleted at the end of the scenario."""
    return state / 'beside'


def sockets_of(state):
    """Return the folder of the compute service's guests: the path of a Unix socket must be short, wherever the checkout is."""
    return Path('/run', settings.prefix(state))


def ceph_of(state):
    """Return the folder of a private Ceph cluster and its clients."""
    return state / 'ceph'


def gone(state):
    """End the processes and unmount the folders that a killed run has left."""
    record = place_of(state) / 'pid'
    end(record, b'mlite-')
    record.unlink(missing_ok=True)
    clear(place_of(state))
    clear(sockets_of(state))
    shutil.rmtree(sockets_of(state), ignore_errors=True)


def clear(folder):
    """End all processes that were started with a path in the folder, and unmount what is mounted in it."""
    _end_guests(f'{folder}/')
    table = [line.split(' ')[4] for line in Path('/proc/self/mountinfo').read_text().splitlines()]
    for place in sorted((place for place in table if place.startswith(f'{folder}/')), reverse=True):
        mounts.unmount(Path(place))


def end(record, command):
    """End the service of an earlier run whose pid is in a file, unless another process has that pid now."""
    if not record.exists():
        return
    pid = int(record.read_text())
    with contextlib.suppress(OSError):
        if command not in Path(f'/proc/{pid}/cmdline').read_bytes():
            return
        os.kill(pid, signal.SIGTERM)
        last = time.monotonic() + 70
        while time.monotonic() < last and Path(f'/proc/{pid}').exists():
            time.sleep(0.1)


def _end_guests(mark):
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(mark in word for word in one.cmdline()):
                one.kill()
                one.wait(30)
