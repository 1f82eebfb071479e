# SPDX-License-Identifier: Apache-2.0
"""What a hypervisor promises to the agent. Plain data in, plain data out: a driver knows no rows and no share service.

Every call may be made again after it worked, failed or died half way, and then makes the same thing true. What a call
raises: ``errors.Final`` where trying again cannot help (its message is shown to the owner of the server); anything
else is tried again a few times. Calls about one server never run together, but for ``console``; those about several do, in
threads. Nor do calls about one mount.
"""

import abc
import dataclasses
import enum
from typing import ClassVar

from oslo_config import cfg


@dataclasses.dataclass(frozen=True)
class Nic:
    """An interface of a server: on which network (by its id; ``name`` is what owners call it), and with which address there."""

    network: str
    name: str
    address: str
    mac: str
    cidr: str
    gateway: str | None = None
    mtu: int = 1500


@dataclasses.dataclass(frozen=True)
class Server:
    """A server as its owner asked for it. Files are named as in the directory ``[compute] images``, checked to have no
    directory in them: a disk image, or a kernel with an initrd; both, where a disk goes with a kernel. A disk image may also be
    one that was made of a server of the same project, and of no other one.

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
    user_data: str | None = None        # base64, as sent
    nics: tuple[Nic, ...] = ()


@dataclasses.dataclass(frozen=True)
class Share:
    """A share as the host mounts it and as the guest finds it (1 to 36 letters, digits and dashes of ``tag``)."""

    id: str
    tag: str
    export: str
    protocol: str = 'NFS'


class Power(enum.StrEnum):
    """What is true of a guest on this host."""

    RUNNING = 'running'
    OFF = 'off'
    SAVED = 'saved'         # its memory is in a file; ``resume`` goes on with it


@dataclasses.dataclass(frozen=True)
class Seen:
    """What the driver sees of a server. ``broken``: ids of shares whose device in the running guest works no more."""

    power: Power
    broken: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What the host can do. ``protocols``: of shares that it can mount; ``networks``: ids of those that servers can be on;
    ``images``: names of those that the operator has for all."""

    virtiofs: bool
    shared_memory: bool
    protocols: frozenset[str] = frozenset({'NFS'})
    networks: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()


class InstanceDriver(abc.ABC):
    """One hypervisor of one host. ``OPTIONS`` are registered in ``GROUP`` of the configuration before it is made."""

    OPTIONS: ClassVar[tuple[cfg.Opt, ...]] = ()
    GROUP: ClassVar[str] = 'compute'

    def __init__(self, conf: cfg.ConfigOpts):
        """Read the configuration; nothing of the host is touched. :raises errors.BadConfig: it cannot work."""
        self.conf = conf

    def start(self) -> None:
        """The agent begins. :raises errors.BadConfig: a program or a permission is missing."""

    def stop(self) -> None:
        """The agent ends; guests, their devices and mounts stay as they are."""

    @abc.abstractmethod
    def capabilities(self) -> Capabilities:
        """Say what this host can do. Asked at each report of the agent, so it must be cheap."""

    # Servers ----------------------------------------------------------------------------------

    @abc.abstractmethod
    def spawn(self, server: Server) -> None:
        """What the server needs on disk is there; it does not run."""

    @abc.abstractmethod
    def destroy(self, server: Server) -> None:
        """Neither a process nor a file of the server is left. Shares are unmounted later, by ``share_umount``."""

    @abc.abstractmethod
    def power_on(self, server: Server, shares: tuple[Share, ...]) -> None:
        """The guest runs, with a virtiofs device for each share, which is mounted already. What of an earlier try of it
        is left over is cleared away; a guest that runs with these shares stays. Each of its ``nics`` is on its network.
        Metadata (and the config drive, made anew) list exactly these shares.
        """

    @abc.abstractmethod
    def power_off(self, server: Server, *, hard: bool = False) -> None:
        """The guest is off, and so is every process that served it. Asked nicely first, unless ``hard``. Memory that was
        saved is forgotten.
        """

    @abc.abstractmethod
    def reboot(self, server: Server, shares: tuple[Share, ...], *, hard: bool = False) -> None:
        """The guest has begun anew. ``hard``: as ``power_off(hard=True)`` and ``power_on``."""

    @abc.abstractmethod
    def suspend(self, server: Server) -> None:
        """The guest's memory is in a file, and it is off. Never asked for with shares."""

    @abc.abstractmethod
    def resume(self, server: Server) -> None:
        """The guest runs where it was suspended, and the file is gone."""

    @abc.abstractmethod
    def rebuild(self, server: Server) -> None:
        """The disk is as the image again (which may be another one now). The server is off when asked."""

    @abc.abstractmethod
    def resize(self, server: Server) -> None:
        """The server, which is off, has the memory, processors and disk that ``server`` says when it runs next."""

    @abc.abstractmethod
    def create_image(self, server: Server, name: str) -> None:
        """A disk image of this name is the server's project's, whole or not at all. The server is off when asked. No other
        image of the project has the name, as the caller knows; those of the operator stay as they are."""

    @abc.abstractmethod
    def delete_image(self, project_id: str, name: str) -> None:
        """The image that was made of a server of the project is gone."""

    @abc.abstractmethod
    def console(self, server: Server, lines: int | None = None) -> str:
        """Return what the guest wrote to its serial console, or the last ``lines`` of it."""

    # What is true of the host -----------------------------------------------------------------

    @abc.abstractmethod
    def look(self, server: Server, shares: tuple[Share, ...]) -> Seen:
        """Say what is true of the server, which should have these shares if it runs. A running guest that the driver does
        not know, since the agent was started again, is supervised again (devices, metadata). Asked again and again.
        """

    @abc.abstractmethod
    def list_running(self) -> frozenset[str]:
        """Return the ids of all servers of which a guest runs here, whether they are known or not."""

    def discard(self, server_id: str) -> None:
        """Nothing of a server that nobody knows (any more) is left. As ``destroy``, with the id only."""
        self.destroy(Server(server_id, '', '', 0, 0))

    # Shares on the host -----------------------------------------------------------------------

    @abc.abstractmethod
    def share_mount(self, share: Share) -> None:
        """The export is mounted on the host, once for all servers that use it; checked, not remembered."""

    @abc.abstractmethod
    def share_umount(self, share: Share) -> None:
        """The export is not mounted. The agent asks when no guest of this host uses it any more."""

    @abc.abstractmethod
    def is_mounted(self, share: Share) -> bool:
        """Say whether the export is mounted at this moment."""

    @abc.abstractmethod
    def list_mounted(self) -> frozenset[str]:
        """Return the keys (``mount_key``) of all mounts of ours on this host, whether they are known or not."""

    @abc.abstractmethod
    def umount_key(self, key: str) -> None:
        """The mount with this key, of which nobody knows any more, is gone."""

    @abc.abstractmethod
    def mount_key(self, share: Share) -> str:
        """Return what names the mount of a share's export on this host: the same for the same export."""


__all__ = ['Capabilities', 'InstanceDriver', 'Nic', 'Power', 'Seen', 'Server', 'Share']
