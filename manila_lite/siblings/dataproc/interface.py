# SPDX-License-Identifier: Apache-2.0
"""What the engine asks of the outside: where nodes come from, how to reach them, and how a protocol is mounted."""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from manila_lite import errors


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A node that a cluster wants. ``instance_id`` is new for each; ``name`` is unique within the cluster."""

    instance_id: str
    name: str
    cluster_id: str
    group: str
    flavor_id: str | None = None
    image_id: str | None = None


@dataclasses.dataclass(frozen=True)
class Node:
    """A node that answers. ``address`` is its internal one, which access rules name; ``host_key`` is the only one that is
    accepted of it, as in a ``known_hosts`` file without the host (``ssh-ed25519 AAAA...``); ``key_file`` is ours.
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
    """A share on a node: ``export`` as its server calls it, at ``path``, ``level`` "rw" or "ro"."""

    share_id: str
    export: str
    path: str
    level: str = 'rw'


class NodeAway(errors.Unavailable):
    """The node does not answer now; it may later."""

    code = 'node_away'


class Busy(errors.Conflict):
    """Somebody uses what is mounted there."""

    code = 'mount_busy'


@dataclasses.dataclass(frozen=True)
class Result:
    """How a command ended, and what it said."""

    status: int
    out: bytes = b''
    err: bytes = b''


class Remote(abc.ABC):
    """A session on one node, as somebody who may mount."""

    @abc.abstractmethod
    def run(self, argv: Sequence[str], data: bytes = b'', timeout: float | None = None) -> Result:
        """The command ran there, each word as it is, by no shell's rules, with ``data`` to read. Returns how it ended.

        :raises NodeAway: the node went away, or the command took longer than ``timeout`` seconds.
        """


class Infra(abc.ABC):
    """Where nodes come from. Every call may be repeated."""

    def __init__(self, conf: Any):
        self.conf = conf

    @abc.abstractmethod
    def offer(self, wanted: Wanted, taken: frozenset[str]) -> str:
        """Return what the node that this one will be is called, none of ``taken``. Nothing is made yet.

        :raises errors.Final: there is none.
        """

    @abc.abstractmethod
    def ready(self, ref: str, wanted: Wanted) -> Node:
        """The node is there and answers; it is made if it was not.

        :raises errors.Again: not yet. :raises errors.Final: it never will.
        """

    @abc.abstractmethod
    def release(self, ref: str) -> None:
        """The node is no longer ours; one that was made for us is gone.

        :raises errors.Again: not yet.
        """

    def sweep(self, taken: Callable[[], frozenset[str]]) -> None:
        """Nothing that was made for us is left but what ``taken`` returns, which is what nodes are called that somebody wants.
        Asked every now and then. :raises errors.ManilaLiteError: it is looked at again.
        """

    @abc.abstractmethod
    def connect(self, node: Node) -> contextlib.AbstractContextManager[Remote]:
        """Return a session. :raises NodeAway: there is none to be had now."""


class ShareHandler(abc.ABC):
    """Mounts shares of one protocol, on one node at a time. Every call may be repeated.

    Each may raise ``NodeAway`` or ``errors.Again`` (later), or ``errors.Final`` (what the owner is told).
    """

    #: As shares call it, in capitals.
    protocol: str

    def __init__(self, conf: Any):
        self.conf = conf

    @abc.abstractmethod
    def setup(self, remote: Remote) -> None:
        """The node can mount this protocol; what it lacks for that is installed."""

    @abc.abstractmethod
    def mount(self, remote: Remote, mount: Mount) -> None:
        """The share is mounted there, at this level, and will be after a reboot."""

    @abc.abstractmethod
    def unmount(self, remote: Remote, mount: Mount, force: bool = False) -> str:
        """Nothing of ours is mounted there, nor will be; an empty directory is gone. Returns what is worth to be kept of how
        that came about, or nothing. ``force``: the node leaves, so who uses it loses it.

        :raises Busy: somebody uses it, without ``force``. It stays as it was.
        """

    @abc.abstractmethod
    def is_mounted(self, remote: Remote, mount: Mount) -> bool:
        """Say whether exactly this share is mounted there, at this level."""
