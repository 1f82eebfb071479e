# SPDX-License-Identifier: Apache-2.0
"""Guests under QEMU, without libvirt; virtiofs brings shares to them.

QEMU has a network namespace of its own, in which only the interface for metadata stays. The interfaces of the guest's
networks are moved to their bridges, each with a filter (``taps``).

All files of a server are in ``servers/<id>`` below the driver's directory. QEMU and the virtiofsd of each share run in
sessions of their own, so that guests survive the end and the death of the agent. Under systemd that needs
``KillMode=process`` in the agent's unit.
"""

import os

from oslo_config import cfg
from oslo_log import log

from manila_lite import errors
from manila_lite.host.commands import run as command
from manila_lite.host.daemon import Daemon
from manila_lite.siblings.compute.drivers import metadata, metadata_server, qemu_arguments, qemu_host, taps
from manila_lite.siblings.compute.drivers.interface import GuestState, MountedShare, Power, Server
from manila_lite.siblings.compute.drivers.local import LocalServers
from manila_lite.siblings.compute.drivers.qemu_monitor import Refused
from manila_lite.siblings.compute.drivers.qemu_options import OPTIONS
from manila_lite.siblings.compute.drivers.qemu_processes import CommandLines, GuestProcesses

LOG = log.getLogger(__name__)

#: Longest path of a Unix socket. The server's id and the socket's name follow the directory.
_SOCKET_LENGTH = 100
_TUN = '/dev/net/tun'


class QemuDriver(LocalServers):
    """See ``InstanceDriver``."""

    OPTIONS = OPTIONS
    GROUP = 'compute_qemu'

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(conf)
        self._conf = conf[self.GROUP]
        self._metadata = metadata_server.Metadata()
        self._daemons: dict[str, Daemon] = {}
        self._binary = self._virtiofsd = self._flavour = self._accel = ''

    def start(self) -> None:
        if len(str(self.servers)) + 46 > _SOCKET_LENGTH:
            raise errors.BadConfig(
                f'[compute] state: {self.servers} is too long for the path of a Unix socket'
            )
        if not os.path.exists(_TUN):
            raise errors.BadConfig(f'[{self.GROUP}] {_TUN} is missing: guests need it for their interfaces')
        self._binary = qemu_host.program(self._conf.binary)
        qemu_host.program('xorriso')
        self._virtiofsd = qemu_host.virtiofsd(self._conf.virtiofsd)
        self._flavour = qemu_host.flavour(self._virtiofsd)
        self._accel = qemu_host.accelerator(self._conf.accelerator, self._binary)
        self.servers.mkdir(parents=True, exist_ok=True)
        self.servers.chmod(0o700)

    def stop(self) -> None:
        self._metadata.end_all()

    def _run(self, server: Server) -> GuestProcesses:
        return GuestProcesses(self.files(server), self._daemons, self._conf.start_timeout)

    # Servers ----------------------------------------------------------------------------------

    def destroy(self, server: Server) -> None:
        self._run(server).clear()
        self._metadata.end(server.id)
        self.clear(server)

    def power_on(self, server: Server, shares: tuple[MountedShare, ...]) -> None:
        run, commands = self._run(server), self._commands(server, shares)
        for nic in server.nics:
            self.bridge(nic)  # raises before anything is started
        if not (run.commands == commands and run.running() and not run.broken()):
            files = self.files(server)
            run.clear()
            files.memory.unlink(missing_ok=True)
            self.begin(server, shares)
            self._start(run, commands)
        self._connect(run, server, shares)

    def _start(self, run: GuestProcesses, commands: CommandLines, *more: str) -> None:
        """Start the guest. If that fails, end its processes."""
        try:
            run.start(commands, more)
        except errors.ManilaLiteError:
            run.clear()
            raise

    def _connect(self, run: GuestProcesses, server: Server, shares: tuple[MountedShare, ...]) -> None:
        """Connect the running guest to its networks, behind filters, and to its metadata."""
        netns = self._conf.bridge_netns
        where = ['-n', netns] if netns else []
        for number, nic in enumerate(server.nics):
            tap = taps.name(server, number)
            if run.apart:
                taps.move(run.pid(), tap, netns)
            taps.restrict(netns, tap, nic)
            command('ip', *where, 'link', 'set', tap, 'master', self.bridge(nic), 'up')
        if run.apart:
            self._metadata.serve(server.id, run.pid(), taps.metadata(server), metadata.files(server, shares))

    def _commands(self, server: Server, shares: tuple[MountedShare, ...]) -> CommandLines:
        files = self.files(server)
        devices = tuple(
            qemu_arguments.Device(
                share.id, share.tag, self.directory_of(share), str(files / f'share{number}')
            )
            for number, share in enumerate(shares)
        )
        return CommandLines(
            qemu_arguments.qemu(
                self._binary, self._accel, self._conf.machine, server, files, self.images, devices
            ),
            {
                device.share_id: qemu_arguments.virtiofsd(
                    self._virtiofsd,
                    self._flavour,
                    device,
                    self._conf.virtiofsd_cache,
                    self._conf.virtiofsd_sandbox,
                )
                for device in devices
            },
            {device.share_id: device.socket for device in devices},
            apart=True,
        )

    def power_off(self, server: Server, *, hard: bool = False) -> None:
        run = self._run(server)
        if not hard and run.running():
            with run.monitor() as monitor:
                monitor.do('system_powerdown')
            run.ended(self._conf.power_off_timeout)
        run.clear()
        self.files(server).memory.unlink(missing_ok=True)
        self._metadata.end(server.id)

    # Memory -----------------------------------------------------------------------------------

    def suspend(self, server: Server) -> None:
        """See ``InstanceDriver.suspend``.

        :raises errors.Final: QEMU cannot save this guest, which keeps running.
        """
        files, run = self.files(server), self._run(server)
        if run.running() and not files.memory.exists():
            draft = files / 'memory.new'
            try:
                with run.monitor() as monitor:
                    monitor.save(draft)
            except Refused as refused:
                draft.unlink(missing_ok=True)
                raise errors.Final(f'The memory of the server cannot be saved: {refused}') from refused
            os.replace(draft, files.memory)
        run.clear()
        self._metadata.end(server.id)

    def resume(self, server: Server) -> None:
        """See ``InstanceDriver.resume``. The guest is paused until its memory is loaded, so the call may be repeated."""
        files, run = self.files(server), self._run(server)
        if files.memory.exists():
            self._start(run, self._commands(server, ()), '-S', '-incoming', 'defer')
            with run.monitor() as monitor:
                monitor.load(files.memory)
            files.memory.unlink()
        if not run.running():
            raise errors.Final('The server has no saved memory.')
        self._connect(run, server, ())
        with run.monitor() as monitor:
            monitor.do('cont')

    # State ------------------------------------------------------------------------------------

    def inspect(self, server: Server, shares: tuple[MountedShare, ...]) -> GuestState:
        files, run = self.files(server), self._run(server)
        if files.memory.exists():
            return GuestState(Power.SAVED)
        if not run.running():
            return GuestState(Power.OFF)
        try:
            self._connect(run, server, shares)
        except errors.ManilaLiteError as bad:
            # It may have ended this moment, which the next look sees.
            LOG.warning('%s: its interfaces cannot be checked; trying again: %s', server.id, bad)
        self.trim(server)
        return GuestState(Power.RUNNING, run.broken())

    def list_running(self) -> frozenset[str]:
        if not self.servers.is_dir():
            return frozenset()
        return frozenset(
            folder.name
            for folder in self.servers.iterdir()
            if self._run(Server(folder.name, '', '', 0, 0)).running()
        )
