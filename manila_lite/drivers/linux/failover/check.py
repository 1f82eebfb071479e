# SPDX-License-Identifier: Apache-2.0
"""Checks of the options of a backend with several hosts. All that was not built for it is refused."""

from collections.abc import Iterator
from pathlib import Path

from manila_lite import values
from manila_lite.drivers.linux.failover.fence import HOST
from manila_lite.drivers.linux.options import LinuxOptions, is_shared, wants_directory


def problems(conf: LinuxOptions) -> Iterator[values.Problem]:
    """Yield every option that does not fit a shared pool."""
    yield from _command(conf)
    if not is_shared(conf):
        return
    wrong = f'not possible with linux_pool_fence = {conf.linux_pool_fence}'
    device = Path(conf.linux_pool_path)
    checks = (
        (
            not conf.driver_handles_share_servers,
            'driver_handles_share_servers = false',
            'set it to true: only share servers come up on another host',
        ),
        (
            wants_directory(conf) or (device.exists() and not device.is_block_device()),
            f'linux_pool_path = {device}',
            'name a block device with btrfs that all hosts of the backend can open',
        ),
        (
            conf.linux_cifs_active_directory,
            'linux_cifs_active_directory',
            'remove it: servers of a domain do not come up on another host; linux_cifs_users is possible',
        ),
        (
            bool(conf.linux_peers),
            'linux_peers',
            'remove it: share servers of a backend with several hosts do not migrate',
        ),
        (
            bool(conf.linux_replication_domain),
            'linux_replication_domain',
            'remove it: a backend with several hosts has no replicas',
        ),
        (
            conf.linux_graceless,
            'linux_graceless = true',
            'remove it: clients could not reclaim their locks on another host',
        ),
    )
    for is_wrong, what, hint in checks:
        if is_wrong:
            yield values.Problem(f'{what}: {wrong}', hint)


def _command(conf: LinuxOptions) -> Iterator[values.Problem]:
    words = conf.linux_fence_command
    if conf.linux_pool_fence != 'command':
        if words:
            yield values.Problem(
                'linux_fence_command has no effect', 'set linux_pool_fence = command, or remove it'
            )
    elif not words:
        yield values.Problem(
            'linux_fence_command is missing', 'name the command that turns off the host {host}'
        )
    elif not Path(words[0]).is_absolute() or not Path(words[0]).is_file():
        yield values.Problem(
            f'linux_fence_command: there is no program {words[0]}', 'name it by its whole path'
        )
    elif not any(HOST in word for word in words[1:]):
        yield values.Problem(
            'linux_fence_command: no argument has {host}', 'the command has to know the host to turn off'
        )
