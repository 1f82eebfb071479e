# SPDX-License-Identifier: Apache-2.0
"""Removal of all that a run has left."""

import contextlib
import shutil
from pathlib import Path

from oslo_config import cfg

from manila_lite.cmd import setup
from manila_lite.drivers import load
from manila_lite.tests import linux_teardown
from scenarios import clients, leftovers, settings


def down(state):
    """Remove all that an earlier run has left."""
    if not state.exists():
        print('Nothing to take down.')
        return
    leftovers.end(state / 'pid', 'manila-lite')
    release(state, remove_data=True)
    shutil.rmtree(state)
    print(f'Processes, mounts, loop devices and {state} are gone.')


def release(state, *, remove_data):
    """End the NFS server, and unmount shares and pool."""
    leftovers.gone(state)
    config = state / 'manila_lite.conf'
    text = config.read_text() if config.exists() else ''
    if 'driver = linux' in text:
        _release_pools(state, config, text, remove_data=remove_data)
    if 'driver = cephfs' in text:
        leftovers.clear(state / 'lib' / settings.GATEWAY)  # its NFS server, which outlives the share manager
    leftovers.clear(state / settings.CEPH)


def _release_pools(state, config, text, *, remove_data):
    clients.gone(settings.prefix(state))
    if settings.other(state) in text:
        clients.make(settings.other(state))  # its backend is taken down within it
    conf = setup.configure([f'--config-file={config}'], conf=cfg.ConfigOpts(), logged=False, messages=False)
    with contextlib.ExitStack() as all_of_them:  # each is tried, also if one fails
        all_of_them.callback(clients.gone, settings.prefix(state))
        for name in conf.enabled_share_backends:
            place = Path(conf.state_path) / name
            driver = load.make('linux', name, f'quickstart@{name}', conf, place)
            all_of_them.callback(linux_teardown.tear_down, driver, remove_data=remove_data)
