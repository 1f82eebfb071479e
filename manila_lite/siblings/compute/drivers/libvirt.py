# SPDX-License-Identifier: Apache-2.0
"""Guests under libvirt, which starts QEMU and a virtiofsd for each share, and keeps them when the agent ends.

Talks to libvirt through ``virsh``, so that no binding has to match the daemon's release. A guest reads its metadata
from its config drive.
"""

import os
import time
from pathlib import Path
from typing import ClassVar

import psutil
from oslo_config import cfg

from manila_lite import errors
from manila_lite.host.commands import CommandFailed, run
from manila_lite.siblings.compute.drivers import libvirt_xml, local, qemu_host, taps
from manila_lite.siblings.compute.drivers.interface import GuestState, MountedShare, Power, Server
from manila_lite.siblings.compute.drivers.local import LocalServers

_PREFIX = 'mlite-'
#: Seconds to save memory: it takes as long as the disk of the host.
_SAVE_SECONDS = 1800.0
_PAUSE = 0.1


class LibvirtDriver(LocalServers):
    """See ``InstanceDriver``."""

    GROUP = 'compute_libvirt'
    OPTIONS: ClassVar[tuple[cfg.Opt, ...]] = (
        cfg.StrOpt('uri', default='qemu:///system', help='URI of libvirt.'),
        cfg.StrOpt(
            'virt_type',
            default='kvm',
            choices=['kvm', 'qemu'],
            help='Execution of guests: with KVM, or by translation (qemu).',
        ),
        cfg.StrOpt('machine', default='q35', help='Machine type of guests.'),
        cfg.StrOpt('network', default='', help='Libvirt network of guests. Default: none.'),
        *local.OPTIONS,
    )

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(conf)
        self._conf = conf[self.GROUP]

    def _virsh(self, *words: str, seconds: float = 60.0) -> str:
        """Return the output of virsh.

        :raises errors.Unavailable: libvirt does not answer.
        :raises CommandFailed: libvirt refused the command.
        """
        try:
            return run('virsh', '--quiet', '--connect', self._conf.uri, *words, seconds=seconds)
        except CommandFailed as bad:
            if 'failed to connect' in str(bad):
                raise errors.Unavailable(str(bad)) from bad
            raise

    def start(self) -> None:
        qemu_host.program('virsh')
        qemu_host.program('xorriso')
        try:
            self._virsh('version')
            qemu_host.virtiofsd('')
        except (errors.Unavailable, CommandFailed) as bad:
            raise errors.BadConfig(f'[{self.GROUP}] uri: {bad}') from bad
        self.servers.mkdir(parents=True, exist_ok=True)

    # Servers ----------------------------------------------------------------------------------

    def _info(self, server: Server) -> dict[str, str]:
        """Return libvirt's information about the domain, empty if there is no domain."""
        name = _PREFIX + server.id
        if name not in self._virsh('list', '--all', '--name').split('\n'):
            return {}
        lines = [line.partition(':') for line in self._virsh('dominfo', name).splitlines()]
        return {key.strip(): value.strip() for key, _, value in lines}

    def _power(self, server: Server) -> Power:
        info = self._info(server)
        if info.get('State', 'shut off') not in ('shut off', 'crashed'):
            return Power.RUNNING
        return Power.SAVED if info.get('Managed save') == 'yes' else Power.OFF

    def destroy(self, server: Server) -> None:
        self.power_off(server, hard=True)
        if self._info(server):
            self._virsh('undefine', '--managed-save', _PREFIX + server.id)
        self.clear(server)

    def _links(self, server: Server, shares: tuple[MountedShare, ...]) -> dict[str, Path]:
        """Return a separate link for each mount, by the share's id: the link shows which server a virtiofsd serves."""
        return {share.id: self.files(server) / f'share{number}' for number, share in enumerate(shares)}

    def power_on(self, server: Server, shares: tuple[MountedShare, ...]) -> None:
        files, links = self.files(server), self._links(server, shares)
        wanted = libvirt_xml.domain(
            self._conf,
            _PREFIX + server.id,
            server,
            files,
            self.images,
            [(_inside(links[share.id]), share.tag) for share in shares],
            [(self.bridge(nic), taps.name(server, number), nic) for number, nic in enumerate(server.nics)],
        )
        known = files / 'domain.xml'
        stays = known.exists() and known.read_text() == wanted and not self._broken(server, shares)
        if stays and self._power(server) == Power.RUNNING:
            self._go(server)
            return
        self.power_off(server, hard=True)
        for share in shares:
            links[share.id].unlink(missing_ok=True)
            links[share.id].symlink_to(self.directory_of(share))
        self.begin(server, shares)
        known.write_text(wanted)
        try:
            self._virsh('define', '--validate', str(known))
            self._start(server)
        except CommandFailed as refused:
            raise errors.Final(str(refused)) from refused

    def _start(self, server: Server, seconds: float = 60.0) -> None:
        self._virsh('start', '--paused', _PREFIX + server.id, seconds=seconds)
        self._go(server)

    def _go(self, server: Server) -> None:
        """Let a domain run that was just started, or whose start was cut off: with filters at its interfaces."""
        self._restrict(server)
        if self._info(server).get('State') == 'paused':
            self._virsh('resume', _PREFIX + server.id)

    def _restrict(self, server: Server) -> None:
        """Have each interface let out frames of the guest only. A guest of an earlier release has others until it is off."""
        for tap, nic in ((taps.name(server, number), nic) for number, nic in enumerate(server.nics)):
            if Path('/sys/class/net', tap).exists():
                taps.restrict('', tap, nic)

    def power_off(self, server: Server, *, hard: bool = False) -> None:
        power, name = self._power(server), _PREFIX + server.id
        if power == Power.RUNNING and not hard:
            self._virsh('shutdown', name)
            end = time.monotonic() + self._conf.power_off_timeout
            while self._power(server) == Power.RUNNING and time.monotonic() < end:
                time.sleep(_PAUSE)
        if self._power(server) == Power.RUNNING:
            try:
                self._virsh('destroy', name)
            except CommandFailed:
                if self._power(server) == Power.RUNNING:
                    raise
        if self._power(server) == Power.SAVED:
            self._virsh('managedsave-remove', name)

    def suspend(self, server: Server) -> None:
        """See ``InstanceDriver.suspend``.

        :raises errors.Final: libvirt cannot save this guest, which keeps running.
        """
        if self._power(server) == Power.RUNNING:
            try:
                self._virsh('managedsave', _PREFIX + server.id, seconds=_SAVE_SECONDS)
            except CommandFailed as refused:
                raise errors.Final(f'The memory of the server cannot be saved: {refused}') from refused

    def resume(self, server: Server) -> None:
        power = self._power(server)
        if power == Power.OFF:
            raise errors.Final('The server has no saved memory.')
        if power == Power.SAVED:
            self._start(server, _SAVE_SECONDS)
        self._go(server)

    # State ------------------------------------------------------------------------------------

    def inspect(self, server: Server, shares: tuple[MountedShare, ...]) -> GuestState:
        power = self._power(server)
        if power != Power.RUNNING:
            return GuestState(power)
        self._restrict(server)
        self.trim(server)
        return GuestState(power, self._broken(server, shares))

    def _broken(self, server: Server, shares: tuple[MountedShare, ...]) -> frozenset[str]:
        """Return the ids of shares without a virtiofsd. Libvirt does not report its end, so the processes are searched."""
        if not shares:
            return frozenset()
        words = {
            word.rpartition('=')[2]
            for process in psutil.process_iter(['cmdline', 'uids'])
            if _is_trusted(process)
            for word in process.info['cmdline'] or ()
        }
        return frozenset(
            share_id for share_id, link in self._links(server, shares).items() if _inside(link) not in words
        )

    def list_running(self) -> frozenset[str]:
        return frozenset(
            name.removeprefix(_PREFIX)
            for name in self._virsh('list', '--name').split()
            if name.startswith(_PREFIX)
        )


def _is_trusted(process: psutil.Process) -> bool:
    """Say whether a process is root's, as those of libvirt, or ours: other users can choose any words."""
    return bool(process.info['uids']) and process.info['uids'].real in (0, os.getuid())


def _inside(link: Path) -> str:
    """Return the directory behind a link: virtiofsd accepts no link as its directory."""
    return f'{link}/.'
