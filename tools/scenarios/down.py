# SPDX-License-Identifier: Apache-2.0
"""Removal of all that a run has left."""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

from manila_lite.cmd import setup
from manila_lite.drivers import load
from scenarios import beside, clients, settings


def down(state):
    """Remove all that an earlier run has left."""
    if not state.exists():
        print('Nothing to take down.')
        return
    pid = state / 'pid'
    if pid.exists():
        end_process(int(pid.read_text()))
    release(state, remove_data=True)
    shutil.rmtree(state)
    print(f'Processes, mounts, loop devices and {state} are gone.')


def release(state, *, remove_data):
    """End the NFS server, and unmount shares and pool."""
    beside.gone(state)
    config = state / 'manila_lite.conf'
    if not config.exists() or 'driver = linux' not in config.read_text():
        return
    clients.gone(settings.prefix(state))
    if settings.other(state) in config.read_text():
        clients.make(settings.other(state))     # its backend is taken down within it
    conf = setup.configure([f'--config-file={config}'], transport_url='inproc://')
    for name in conf.enabled_share_backends:
        load.make('linux', name, f'quickstart@{name}', conf, Path(conf.state_path) / name).teardown(remove_data=remove_data)
    clients.gone(settings.prefix(state))
    conf.reset()
    conf.clear()


def end_process(pid):
    """End the service of an earlier run, unless another process has its pid now."""
    with contextlib.suppress(OSError):
        if b'manila-lite' not in Path(f'/proc/{pid}/cmdline').read_bytes():
            return
        os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 70
        while time.monotonic() < end and Path(f'/proc/{pid}').exists():
            time.sleep(0.1)
