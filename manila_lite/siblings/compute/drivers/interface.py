# SPDX-License-Identifier: Apache-2.0
"""The interface of hypervisor drivers for the agent. Plain data in, plain data out: a driver knows no rows and no share
service.

Every call may be repeated after it worked, failed or died half way, and then has the same result. Errors:
``errors.Final`` where another try cannot help (its message is shown to the owner of the server); any other error is
tried again a few times. Calls about one server never run together, except ``console``; calls about several servers do,
in threads. Calls about one mount never run together.
"""

import abc
import dataclasses
import enum
from typing import ClassVar

from oslo_config import cfg

from manila_lite.siblings.nfs import Health


@dataclasses.dataclass(frozen=True)
class Nic:
    """A network interface of a server. ``network``: the id of its network; ``name``: the network's name, for owners."""

    network: str
    name: str
    address: str
    mac: str
    cidr: str
    gateway: str | None = None
    mtu: int = 1500


@dataclasses.dataclass(frozen=True)
class Server:
    """A server as its owner asked for it.

    ``image``, ``kernel`` and ``initrd`` are names of files in the directory ``[compute] images``, checked to have no
    directory in them: a disk image, or a kernel with an initrd, or both, where a disk goes with a kernel. A disk image
    may also be one that was made of a server of the same project, never of another.

    ``memory`` is in MiB, ``disk`` in GiB (0: as large as the image). ``shared_memory``: other processes may map the
    guest's memory, which virtiofs needs.
    """

    id: str
    project_id: str
    name: str
    memory: int
    vcpus: int
    image: str | None = None
    kernel: str | None = None
    initrd: str | None = None
    cmdline: str = ''
    disk: int = 0
    shared_memory: bool = True
    metadata: dict[str, str] = dataclasses.field(default_factory=dict)
    user_data: str | None = None  # base64, as sent
    nics: tuple[Nic, ...] = ()


@dataclasses.dataclass(frozen=True)
class MountedShare:
    """A share as the host mounts it (``export``) and as the guest finds it (``tag``: 1 to 36 letters, digits and dashes)."""

    id: str
    tag: str
    export: str
    protocol: str = 'NFS'


class Power(enum.StrEnum):
    """The power state of a guest on this host."""

    RUNNING = 'running'
    OFF = 'off'
    SAVED = 'saved'  # its memory is in a file, from which ``resume`` continues


@dataclasses.dataclass(frozen=True)
class GuestState:
    """The state of a server, as the driver sees it. ``broken``: ids of shares whose device in the running guest no
    longer works.
    """

    power: Power
    broken: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """Capabilities of the host. ``protocols``: of shares that it can mount; ``networks``: ids of networks that its
    servers can be on; ``images``: names of the operator's images, for all projects.
    """

    virtiofs: bool
    shared_memory: bool
    protocols: frozenset[str] = frozenset({'NFS'})
    networks: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()


class InstanceDriver(abc.ABC):
    """One hypervisor of one host. ``OPTIONS`` are registered in ``GROUP`` of the configuration before the driver is made."""

    OPTIONS: ClassVar[tuple[cfg.Opt, ...]] = ()
    GROUP: ClassVar[str] = 'compute'

    def __init__(self, conf: cfg.ConfigOpts):
        """Read the configuration; do not touch the host. :raises errors.BadConfig: the driver cannot work."""
        self.conf = conf

    def start(self) -> None:
        """Prepare for work at the start of the agent. :raises errors.BadConfig: a program or a permission is missing."""

    def stop(self) -> None:
        """Stop with the agent. Guests, their devices and mounts stay as they are."""

    @abc.abstractmethod
    def capabilities(self) -> Capabilities:
        """Return the capabilities of this host. Called at each report of the agent, so it must be cheap."""

    # Servers ----------------------------------------------------------------------------------

    @abc.abstractmethod
    def spawn(self, server: Server) -> None:
        """Create the server's files on disk, without starting the guest."""

    @abc.abstractmethod
    def destroy(self, server: Server) -> None:
        """End all processes of the server, and delete its files. Shares are unmounted later, by ``share_umount``."""

    @abc.abstractmethod
    def power_on(self, server: Server, shares: tuple[MountedShare, ...]) -> None:
        """Start the guest with a virtiofs device for each share, which is mounted already.

        Remains of an earlier try are cleared away; a guest that runs with these shares already stays. Each of its
        ``nics`` is connected to its network. Metadata (and the config drive, made anew) list exactly these shares.
        """

    @abc.abstractmethod
    def power_off(self, server: Server, *, hard: bool = False) -> None:
        """Switch off the guest, and end every process that serves it. Unless ``hard``, the guest is asked to shut down
        first. Saved memory is deleted.
        """

    def reboot(self, server: Server, shares: tuple[MountedShare, ...], *, hard: bool = False) -> None:
        """Restart the guest."""
        self.power_off(server, hard=hard)
        self.power_on(server, shares)

    @abc.abstractmethod
    def suspend(self, server: Server) -> None:
        """Save the guest's memory to a file, and switch off the guest. Never called for a server with shares."""

    @abc.abstractmethod
    def resume(self, server: Server) -> None:
        """Run the guest from its saved memory, and delete the file."""

    @abc.abstractmethod
    def rebuild(self, server: Server) -> None:
        """Restore the disk from the image, which may be another one than before. The server is off."""

    @abc.abstractmethod
    def resize(self, server: Server) -> None:
        """Give the server, which is off, the memory, processors and disk of ``server``, for its next start."""

    @abc.abstractmethod
    def create_image(self, server: Server, name: str) -> None:
        """Make a disk image of this name for the server's project, complete or not at all. The server is off.

        The caller makes sure that no other image of the project has the name; the operator's images stay as they are.
        """

    @abc.abstractmethod
    def delete_image(self, project_id: str, name: str) -> None:
        """Delete an image that was made of a server of the project."""

    @abc.abstractmethod
    def console(self, server: Server, lines: int | None = None) -> str:
        """Return the guest's output on its serial console, or the last ``lines`` of it."""

    # State of the host ------------------------------------------------------------------------

    @abc.abstractmethod
    def inspect(self, server: Server, shares: tuple[MountedShare, ...]) -> GuestState:
        """Return the state of the server, which should have these shares if it runs. Called periodically.

        A running guest that the driver does not know, since the agent was started again, is supervised again (devices,
        metadata).
        """

    @abc.abstractmethod
    def list_running(self) -> frozenset[str]:
        """Return the ids of all servers whose guest runs here, known or not."""

    def discard(self, server_id: str) -> None:
        """Delete all that is left of a server that the database does not know. Like ``destroy``, with the id only."""
        self.destroy(Server(server_id, '', '', 0, 0))

    # Shares on the host -----------------------------------------------------------------------

    @abc.abstractmethod
    def share_mount(self, share: MountedShare) -> None:
        """Mount the export on the host, once for all servers that use it. The present state is checked, not remembered."""

    @abc.abstractmethod
    def share_umount(self, share: MountedShare) -> None:
        """Unmount the export. Called when no guest of this host uses it any more."""

    @abc.abstractmethod
    def is_mounted(self, share: MountedShare) -> bool:
        """Say whether the export is mounted at this moment."""

    def mount_health(self, share: MountedShare) -> Health:
        """Return whether the mount of the export is there and answers, within a bounded time. Called periodically."""
        return Health.ANSWERS if self.is_mounted(share) else Health.MISSING

    @abc.abstractmethod
    def list_mounted(self) -> frozenset[str]:
        """Return the keys (``mount_key``) of all mounts of this service on the host, known or not."""

    @abc.abstractmethod
    def umount_key(self, key: str) -> None:
        """Remove the mount with this key, which the database does not know any more."""

    @abc.abstractmethod
    def mount_key(self, share: MountedShare) -> str:
        """Return the key of the mount of a share's export on this host: the same for the same export."""


__all__ = ['Capabilities', 'GuestState', 'Health', 'InstanceDriver', 'MountedShare', 'Nic', 'Power', 'Server']
