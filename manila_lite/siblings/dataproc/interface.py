# SPDX-License-Identifier: Apache-2.0
"""Interfaces of the engine: infrastructures that nodes come from, sessions on nodes, and handlers that mount a protocol."""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from manila_lite import errors


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A node that a cluster wants. ``instance_id`` is new for each node; ``name`` is unique within the cluster."""

    instance_id: str
    name: str
    cluster_id: str
    group: str
    flavor_id: str | None = None
    image_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Node:
    """A node that answers. ``address`` is its internal one, which access rules name; ``host_key`` is its only accepted
    key, as in a ``known_hosts`` file without the host (``ssh-ed25519 AAAA...``); ``key_file`` is our private key.
    """

    ref: str
    name: str
    address: str
    port: int = 22
    user: str = 'root'
    host_key: str = ''
    key_file: str = ''


@dataclasses.dataclass(frozen=True)
class Mount:
    """A share on a node: ``export`` is its export location, ``path`` its mount point, ``level`` "rw" or "ro"."""

    share_id: str
    export: str
    path: str
    level: str = 'rw'


class NodeAway(errors.Unavailable):
    """The node does not answer now; it may later."""

    code = 'node_away'


class TooLong(NodeAway):
    """The command did not end in time. The node may be well: commands also hang where an NFS server does not answer."""


class Busy(errors.Conflict):
    """Somebody uses what is mounted there."""

    code = 'mount_busy'


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a command: exit status and output."""

    status: int
    out: bytes = b''
    err: bytes = b''


class Remote(abc.ABC):
    """A session on one node, with the right to mount."""

    @abc.abstractmethod
    def run(self, argv: Sequence[str], data: bytes = b'', timeout: float | None = None) -> Result:
        """Run the command on the node, each word as it is, without a shell, with ``data`` as its input. Returns the result.

        :raises NodeAway: the node stopped answering, or the command took longer than ``timeout`` seconds.
        """


class Infra(abc.ABC):
    """The source of nodes. Every call may be repeated."""

    def __init__(self, conf: Any):
        self.conf = conf

    @abc.abstractmethod
    def offer(self, wanted: Wanted, taken: frozenset[str]) -> str:
        """Return the reference of a node for this one, which is not in ``taken``. Nothing is made yet.

        :raises errors.Final: there is no free node.
        """

    @abc.abstractmethod
    def ready(self, ref: str, wanted: Wanted) -> Node:
        """Return the node when it answers; make it if it does not exist.

        :raises errors.Again: not yet. :raises errors.Final: it never will.
        """

    @abc.abstractmethod
    def release(self, ref: str) -> None:
        """Release the node; a node that was made for us is deleted.

        :raises errors.Again: not yet.
        """

    def sweep(self, taken: Callable[[], frozenset[str]]) -> None:
        """Delete the nodes that were made for us, except those whose references ``taken`` returns, which clusters need.
        Called periodically. :raises errors.ManilaLiteError: the next call tries again.
        """

    @abc.abstractmethod
    def connect(self, node: Node) -> contextlib.AbstractContextManager[Remote]:
        """Return a session. :raises NodeAway: the node does not answer now."""


class ShareHandler(abc.ABC):
    """A handler that mounts shares of one protocol, on one node at a time. Every call may be repeated.

    Each may raise ``NodeAway`` or ``errors.Again`` (to be tried later), or ``errors.Final`` (the owner reads the message).
    """

    #: The protocol's name in shares, in capitals.
    protocol: str

    def __init__(self, conf: Any):
        self.conf = conf

    @abc.abstractmethod
    def setup(self, remote: Remote) -> None:
        """Make the node able to mount this protocol; install the missing software."""

    @abc.abstractmethod
    def mount(self, remote: Remote, mount: Mount) -> None:
        """Mount the share at this level, now and after each reboot."""

    @abc.abstractmethod
    def unmount(self, remote: Remote, mount: Mount, force: bool = False) -> str:
        """Unmount the share, now and for the next boot; delete an empty directory. Returns a note about the unmount
        that is worth keeping, or an empty text. ``force``: the node leaves the cluster, so programs that use the share
        lose it.

        :raises Busy: the share is in use, without ``force``. It stays as it was.
        """

    @abc.abstractmethod
    def is_mounted(self, remote: Remote, mount: Mount) -> bool:
        """Say whether exactly this share is mounted there, at this level, and answers in time."""

    def clean(self, remote: Remote) -> None:
        """Unmount all that earlier clusters left on the node, before a cluster gets it: when it left them it may have been
        away.
        """
