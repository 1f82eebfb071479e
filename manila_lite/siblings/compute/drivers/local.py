# SPDX-License-Identifier: Apache-2.0
"""Files of a server on this host: its disk, its console, its config drive. For any hypervisor."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from manila_lite import errors
from manila_lite.conf import numeric
from manila_lite.siblings.compute.drivers import config_drive, disks, image_files, metadata
from manila_lite.siblings.compute.drivers.interface import Capabilities, MountedShare, Nic, Server
from manila_lite.siblings.compute.drivers.mounts import OPTIONS as MOUNTS
from manila_lite.siblings.compute.drivers.mounts import HostMounts

#: Options of every driver that keeps servers in files of this host.
OPTIONS = (
    numeric.Float(
        'power_off_timeout',
        default=60.0,
        min=0,
        max=numeric.WEEK,
        help='Seconds within which a guest must switch itself off.',
    ),
    numeric.Int(
        'console_size', default=1024, min=1, help='KiB of serial console output that are kept for each guest.'
    ),
    cfg.DictOpt(
        'bridges',
        default={},
        help='Bridge of this host for each network of [compute] networks_file that servers of this host can use: '
        '"data:br-data,backup:br-7".',
    ),
    *MOUNTS,
)


@dataclass(frozen=True, slots=True)
class Files:
    """The paths of a server's files."""

    folder: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    @property
    def disk(self) -> Path:
        """The disk, for a server that has one."""
        return self.folder / 'disk'

    @property
    def config(self) -> Path:
        """The config drive."""
        return self.folder / 'config.iso'

    @property
    def memory(self) -> Path:
        """The memory of a suspended guest."""
        return self.folder / 'memory'

    @property
    def console(self) -> Path:
        """The guest's output on its serial port."""
        return self.folder / 'console'


class LocalServers(HostMounts):
    """The part of a driver that keeps files. Each server has a folder below ``servers`` in the driver's directory."""

    def __init__(self, conf: cfg.ConfigOpts):
        super().__init__(conf)
        self.servers = self.state / 'servers'

    def capabilities(self) -> Capabilities:
        """See ``InstanceDriver.capabilities``. Without virtiofs, ``start`` refused to begin."""
        return Capabilities(
            virtiofs=True,
            shared_memory=True,
            networks=frozenset(self.conf[self.GROUP].bridges),
            images=image_files.public(self.images),
        )

    def files(self, server: Server) -> Files:
        """Return the paths of the server's files."""
        return Files(self.servers / server.id)

    def spawn(self, server: Server) -> None:
        files = self.files(server)
        files.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in (server.kernel, server.initrd):
            if name and not (self.images / name).is_file():
                raise errors.Final(f'There is no image {name}.')
        if server.image and not files.disk.exists():
            disks.make(
                image_files.find(self.images, server.project_id, server.image), files.disk, server.disk
            )

    def bridge(self, nic: Nic) -> str:
        """Return the bridge that an interface is plugged into. :raises errors.Final: this host has none for the network."""
        bridges: dict[str, str] = self.conf[self.GROUP].bridges
        if nic.network not in bridges:
            raise errors.Final(f'This host is not on network {nic.network}.')
        return bridges[nic.network]

    def begin(self, server: Server, shares: tuple[MountedShare, ...]) -> None:
        """Make the config drive anew, and delete the old console output."""
        self.files(server).console.unlink(missing_ok=True)
        config_drive.make(self.files(server).config, metadata.files(server, shares))

    def rebuild(self, server: Server) -> None:
        files = self.files(server)
        for path in (files.disk, files.memory, files.console):
            path.unlink(missing_ok=True)
        self.spawn(server)

    def resize(self, server: Server) -> None:
        """See ``InstanceDriver.resize``. A disk never shrinks; memory and processors change at the next start."""
        if server.image:
            disks.grow(self.files(server).disk, server.disk)

    def create_image(self, server: Server, name: str) -> None:
        """See ``InstanceDriver.create_image``.

        :raises errors.Final: the server has no disk.
        """
        if not server.image:
            raise errors.Final('The server has no disk to make an image of.')
        draft = self._draft(server)
        draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        disks.keep(self.files(server).disk, draft.with_name(name), draft)

    def delete_image(self, project_id: str, name: str) -> None:
        (image_files.own(self.images, project_id) / name).unlink(missing_ok=True)

    def _draft(self, server: Server) -> Path:
        """Return the path of an unfinished image of the server: no image can have this name."""
        return image_files.own(self.images, server.project_id) / f'.{server.id}.new'

    def clear(self, server: Server) -> None:
        """Delete all files of the server."""
        self._draft(server).unlink(missing_ok=True)
        shutil.rmtree(self.files(server).folder, ignore_errors=True)

    def console(self, server: Server, lines: int | None = None) -> str:
        try:
            said = self.files(server).console.read_text(errors='replace')
        except FileNotFoundError:
            return ''
        return said if lines is None else ''.join(said.splitlines(keepends=True)[-lines:] if lines else [])

    def trim(self, server: Server) -> None:
        """Cut the console output to its maximum size, so that a guest cannot fill the disk of its host."""
        console = self.files(server).console
        most = self.conf[self.GROUP].console_size << 10
        if console.exists() and console.stat().st_size > most:
            with console.open('r+b') as file:
                file.seek(-most // 2, os.SEEK_END)
                rest = file.read()
                file.truncate(0)
                file.seek(0)
                file.write(rest)
