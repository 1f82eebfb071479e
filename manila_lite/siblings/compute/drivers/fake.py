# SPDX-License-Identifier: Apache-2.0
"""A fake hypervisor: it records on disk which guests run, and which exports are mounted. It fails, hangs or dies on request.

``<state>/knobs`` has a line ``<call> <what>`` for each fault: ``fail`` (is tried again), ``final``, ``die``, ``hang SECONDS``.
``calls`` has a line for each call.
"""

import fcntl
import hashlib
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from oslo_config import cfg

from manila_lite import errors
from manila_lite.siblings.compute.drivers.interface import (
    Capabilities,
    GuestState,
    Health,
    InstanceDriver,
    MountedShare,
    Power,
    Server,
)

_EMPTY: dict[str, Any] = {'servers': {}, 'mounts': {}, 'images': []}


class FakeDriver(InstanceDriver):
    """Guests that do nothing. Their records survive the agent, as guests do."""

    GROUP = 'compute_fake'
    OPTIONS: ClassVar[tuple[cfg.Opt, ...]] = (
        cfg.BoolOpt('virtiofs', default=True, help='Report that the host has virtiofs.'),
        cfg.BoolOpt('shared_memory', default=True, help='Report that guests can share their memory.'),
        cfg.ListOpt('protocols', default=['NFS'], help='Share protocols that the host reports as mountable.'),
        cfg.ListOpt(
            'networks', default=[], help='Ids of the networks that the host reports for its servers.'
        ),
        cfg.ListOpt('images', default=[], help="Names of the operator's images that the host reports."),
    )

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(conf)
        self.state = Path(conf.compute.state or Path(conf.state_path) / 'compute')
        self.state.mkdir(parents=True, exist_ok=True)

    def capabilities(self) -> Capabilities:
        own = self.conf[self.GROUP]
        return Capabilities(
            own.virtiofs,
            own.shared_memory,
            frozenset(own.protocols),
            frozenset(own.networks),
            frozenset(own.images),
        )

    # Servers ----------------------------------------------------------------------------------

    def spawn(self, server: Server) -> None:
        with self._call('spawn', server.id) as known:
            known['servers'].setdefault(server.id, {'power': Power.OFF, 'shares': {}, 'console': ''})

    def destroy(self, server: Server) -> None:
        with self._call('destroy', server.id) as known:
            known['servers'].pop(server.id, None)

    def power_on(self, server: Server, shares: tuple[MountedShare, ...]) -> None:
        with self._call('power_on', server.id, *(share.tag for share in shares)) as known:
            for share in shares:
                if self.mount_key(share) not in known['mounts']:
                    raise errors.Final(f'Share {share.id} is not mounted.')
            guest = _guest(known, server)
            if guest['power'] != Power.RUNNING:
                guest['console'] += f'{server.name}: booting with {server.memory} MiB\n'
            guest |= {
                'power': Power.RUNNING,
                'shares': {share.tag: self.mount_key(share) for share in shares},
                'nics': {nic.network: nic.address for nic in server.nics},
            }

    def power_off(self, server: Server, *, hard: bool = False) -> None:
        with self._call('power_off', server.id) as known:
            if server.id in known['servers']:
                known['servers'][server.id] |= {'power': Power.OFF, 'shares': {}}

    def reboot(self, server: Server, shares: tuple[MountedShare, ...], *, hard: bool = False) -> None:
        with self._call('reboot', server.id) as known:
            _guest(known, server)['console'] += f'{server.name}: rebooting\n'

    def suspend(self, server: Server) -> None:
        with self._call('suspend', server.id) as known:
            _guest(known, server)['power'] = Power.SAVED

    def resume(self, server: Server) -> None:
        with self._call('resume', server.id) as known:
            _guest(known, server)['power'] = Power.RUNNING

    def rebuild(self, server: Server) -> None:
        with self._call('rebuild', server.id) as known:
            _guest(known, server)['console'] = ''

    def resize(self, server: Server) -> None:
        with self._call('resize', server.id, str(server.memory)):
            pass

    def create_image(self, server: Server, name: str) -> None:
        with self._call('create_image', server.id, name) as known:
            known['images'] = sorted({*known['images'], f'{server.project_id}/{name}'})

    def delete_image(self, project_id: str, name: str) -> None:
        with self._call('delete_image', name) as known:
            known['images'] = [one for one in known['images'] if one != f'{project_id}/{name}']

    def console(self, server: Server, lines: int | None = None) -> str:
        with self._call('console', server.id) as known:
            text = _guest(known, server)['console']
        return text if lines is None else ''.join(text.splitlines(keepends=True)[-lines:] if lines else [])

    def inspect(self, server: Server, shares: tuple[MountedShare, ...]) -> GuestState:
        """See ``InstanceDriver.inspect``. A share whose export is no longer mounted is broken."""
        known = self.records()
        guest = known['servers'].get(server.id, {'power': Power.OFF, 'shares': {}})
        broken = {share.id for share in shares if guest['shares'].get(share.tag) not in known['mounts']}
        return GuestState(
            Power(guest['power']), frozenset(broken) if guest['power'] == Power.RUNNING else frozenset()
        )

    def list_running(self) -> frozenset[str]:
        return frozenset(
            server_id
            for server_id, guest in self.records()['servers'].items()
            if guest['power'] == Power.RUNNING
        )

    # Shares -----------------------------------------------------------------------------------

    def share_mount(self, share: MountedShare) -> None:
        with self._call('share_mount', share.id) as known:
            known['mounts'][self.mount_key(share)] = share.export

    def share_umount(self, share: MountedShare) -> None:
        with self._call('share_umount', share.id) as known:
            known['mounts'].pop(self.mount_key(share), None)

    def is_mounted(self, share: MountedShare) -> bool:
        return self.mount_key(share) in self.records()['mounts']

    def mount_health(self, share: MountedShare) -> Health:
        """See ``InstanceDriver.mount_health``. A knob names the health of mounts that are there: ``mount_health silent``."""
        if not self.is_mounted(share):
            return Health.MISSING
        return next((Health(words[0]) for words in self._faults('mount_health')), Health.ANSWERS)

    def list_mounted(self) -> frozenset[str]:
        return frozenset(self.records()['mounts'])

    def umount_key(self, key: str) -> None:
        with self._call('umount_key', key) as known:
            known['mounts'].pop(key, None)

    def mount_key(self, share: MountedShare) -> str:
        return hashlib.sha256(f'{share.protocol} {share.export}'.encode()).hexdigest()[:32]

    # Records ----------------------------------------------------------------------------------

    def records(self) -> dict[str, Any]:
        """Return the records of guests, mounts and images of the host."""
        path = self.state / 'records.json'
        known: dict[str, Any] = json.loads(path.read_text() if path.exists() else json.dumps(_EMPTY))
        return known

    @contextmanager
    def _call(self, name: str, *about: str) -> Iterator[dict[str, Any]]:
        """Yield the records for changes, which are written together; fail before or after that, as the knobs say."""
        # A process of all services holds ``lock`` of the same folder as long as it runs.
        with (self.state / 'records.lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with (self.state / 'calls').open('a') as calls:
                calls.write(' '.join((name, *about)) + '\n')
            faults = self._faults(name)
            _suffer(name, faults, before=True)
            known = self.records()
            yield known
            fresh = self.state / 'records.new'
            fresh.write_text(json.dumps(known, indent=1))
            fresh.replace(self.state / 'records.json')
        _suffer(name, faults, before=False)

    def _faults(self, name: str) -> list[list[str]]:
        path = self.state / 'knobs'
        lines = path.read_text().splitlines() if path.exists() else []
        return [words[1:] for words in map(str.split, lines) if len(words) > 1 and words[0] == name]


def _guest(known: dict[str, Any], server: Server) -> dict[str, Any]:
    if server.id not in known['servers']:
        raise errors.Final(f'There is no guest {server.id} on this host.')
    guest: dict[str, Any] = known['servers'][server.id]
    return guest


def _suffer(name: str, faults: list[list[str]], *, before: bool) -> None:
    """Apply the faults of a call. ``die`` and ``hang`` with ``after`` as the last word come after the call's work, all
    others before.
    """
    for what, *more in faults:
        if before == (more[-1:] == ['after']):
            continue
        if what == 'hang':
            time.sleep(float(more[0]))
        elif what == 'die':
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == 'final':
            raise errors.Final(f'{name} was told to fail.')
        else:
            raise RuntimeError(f'{name} was told to fail')
